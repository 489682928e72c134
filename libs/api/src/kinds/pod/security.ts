import { z } from 'zod';
import { core, flag, requiredText, text, texts, whole } from '../fields.ts';

const seLinuxOptionsSchema = core('SELinuxOptions', 'SELinux context', {
  user: text('User part'),
  role: text('Role part'),
  type: text('Type part'),
  level: text('Level part'),
});
const profile = (name: string, about: string) =>
  core(name, about, {
    type: z.enum(['Localhost', 'RuntimeDefault', 'Unconfined']).describe('Which one'),
    localhostProfile: text('Name of a profile on the node, for Localhost'),
  });
const seccompProfileSchema = profile('SeccompProfile', 'Limits the system calls');
const appArmorProfileSchema = profile('AppArmorProfile', 'Limits by AppArmor');
const windowsOptionsSchema = core('WindowsSecurityContextOptions', 'Settings for Windows', {
  gmsaCredentialSpecName: text('Name of the credentials'),
  gmsaCredentialSpec: text('The credentials'),
  runAsUserName: text('User'),
  hostProcess: flag('Runs on the host'),
});

export const podSecurityContextSchema = core('PodSecurityContext', 'Rights of all containers of a pod', {
  runAsUser: whole('User id of the processes; that of the image unless set'),
  runAsGroup: whole('Group id of the processes'),
  runAsNonRoot: flag('Refuses to start a container as user 0'),
  fsGroup: whole('Group that owns the volumes and that the processes are in'),
  fsGroupChangePolicy: z.enum(['Always', 'OnRootMismatch']).optional().describe('When the owner of volumes is changed'),
  supplementalGroups: z.array(z.number().int()).optional().describe('More groups of the processes'),
  supplementalGroupsPolicy: z.enum(['Merge', 'Strict']).optional().describe('Merge: the groups of the image count, too'),
  sysctls: z
    .array(core('Sysctl', 'A setting of the kernel', { name: requiredText('Name'), value: requiredText('Value') }))
    .optional()
    .describe('Settings of the kernel within the pod'),
  seLinuxOptions: seLinuxOptionsSchema.optional().describe('SELinux context'),
  seLinuxChangePolicy: text('How volumes get their SELinux context'),
  seccompProfile: seccompProfileSchema.optional().describe('Limits the system calls'),
  appArmorProfile: appArmorProfileSchema.optional().describe('Limits by AppArmor'),
  windowsOptions: windowsOptionsSchema.optional().describe('Settings for Windows'),
});
export type PodSecurityContext = z.infer<typeof podSecurityContextSchema>;

export const securityContextSchema = core('SecurityContext', 'Rights of a container; what is set here goes before the settings of the pod', {
  capabilities: core('Capabilities', 'Capabilities of Linux', { add: texts('Those added'), drop: texts('Those taken away') })
    .optional()
    .describe('Capabilities of Linux to add and drop'),
  privileged: flag('Gives all rights on the node'),
  runAsUser: whole('User id of the process; that of the image unless set'),
  runAsGroup: whole('Group id of the process'),
  runAsNonRoot: flag('Refuses to start as user 0'),
  readOnlyRootFilesystem: flag('Nothing but volumes can be written'),
  allowPrivilegeEscalation: flag('Whether a process may gain more rights than its parent'),
  procMount: text('How /proc is mounted'),
  seLinuxOptions: seLinuxOptionsSchema.optional().describe('SELinux context'),
  seccompProfile: seccompProfileSchema.optional().describe('Limits the system calls'),
  appArmorProfile: appArmorProfileSchema.optional().describe('Limits by AppArmor'),
  windowsOptions: windowsOptionsSchema.optional().describe('Settings for Windows'),
});
export type SecurityContext = z.infer<typeof securityContextSchema>;
