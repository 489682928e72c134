import { z } from 'zod';
import { core, flag, plainFlag, quantities, requiredText, saidText, text, textMap, whole } from '../fields.ts';
import { affinitySchema } from './affinity.ts';
import { containerSchema, ephemeralContainerSchema } from './container.ts';
import { hostAliasSchema, podDnsConfigSchema } from './network.ts';
import { tolerationSchema, topologySpreadConstraintSchema } from './placement.ts';
import { localObjectReferenceSchema } from './reference.ts';
import { resourceRequirementsSchema } from './resources.ts';
import { podSecurityContextSchema } from './security.ts';
import { volumeSchema } from './volume.ts';

const schema = core('PodSpec', 'What a pod is made of and where it may run', {
  containers: z.array(containerSchema).describe('Its containers; at least one'),
  initContainers: z.array(containerSchema).optional().describe('Run one after the other, each to its end, before the containers start'),
  ephemeralContainers: z.array(ephemeralContainerSchema).optional().describe('Added to look into the running pod'),
  volumes: z.array(volumeSchema).optional().describe('Files that its containers can be shown'),
  restartPolicy: z.enum(['Always', 'OnFailure', 'Never']).default('Always').describe('When ended containers are started again'),
  terminationGracePeriodSeconds: z.number().int().default(30).describe('Seconds it may take to end'),
  activeDeadlineSeconds: whole('Seconds after which it is ended as failed'),
  dnsPolicy: z.enum(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']).default('ClusterFirst').describe('Where names are resolved'),
  dnsConfig: podDnsConfigSchema.optional().describe('How names are resolved'),
  enableServiceLinks: flag('Whether the environment names the services of the namespace'),
  nodeName: text('The node it runs on; set by the scheduler'),
  nodeSelector: textMap('Labels that the node must have'),
  affinity: affinitySchema.optional().describe('Where it may and should be'),
  tolerations: z.array(tolerationSchema).optional().describe('Taints of nodes that do not keep it away'),
  topologySpreadConstraints: z.array(topologySpreadConstraintSchema).optional().describe('How it is spread with its like'),
  schedulerName: z.string().default('default-scheduler').describe('Who finds the node'),
  schedulingGates: z.array(core('PodSchedulingGate', 'Something to wait for', { name: requiredText('Its name') })).optional().describe('While there is one no node is looked for'),
  serviceAccountName: text('Account that it runs as'),
  serviceAccount: text('Old name of serviceAccountName'),
  automountServiceAccountToken: flag('Whether it gets a token of its account'),
  hostNetwork: plainFlag('Uses the network of the node'),
  hostPID: plainFlag('Sees the processes of the node'),
  hostIPC: plainFlag('Shares memory and semaphores with the node'),
  hostUsers: flag('Whether its users are those of the node'),
  shareProcessNamespace: flag('Its containers see the processes of each other'),
  hostname: text('Its host name; the name of the pod unless set'),
  subdomain: text('With it the full host name is hostname.subdomain.namespace.svc'),
  setHostnameAsFQDN: flag('The host name is the full one'),
  hostAliases: z.array(hostAliasSchema).optional().describe('Lines for /etc/hosts'),
  securityContext: podSecurityContextSchema.prefault({}).describe('Rights of its containers'),
  imagePullSecrets: z.array(localObjectReferenceSchema).optional().describe('Secrets to pull its images with'),
  priorityClassName: text('Class that says how important it is'),
  priority: whole('How important it is; set from the class'),
  preemptionPolicy: z.enum(['Never', 'PreemptLowerPriority']).optional().describe('Whether less important pods may be ended for it'),
  readinessGates: z.array(core('PodReadinessGate', 'A condition that counts', { conditionType: requiredText('Its type') })).optional().describe('Conditions that must be True for it to be ready'),
  runtimeClassName: saidText('Class of the container runtime'),
  overhead: quantities('What it needs besides its containers'),
  os: core('PodOS', 'An operating system', { name: requiredText('linux or windows') }).optional().describe('Operating system of its containers'),
  resourceClaims: z
    .array(core('PodResourceClaim', 'A claim for devices', { name: requiredText('Its name'), resourceClaimName: text('The claim'), resourceClaimTemplateName: text('What to make the claim from') }))
    .optional()
    .describe('Claims for devices'),
  resources: resourceRequirementsSchema.optional().describe('What all its containers together need and may use'),
});
export type PodSpec = z.output<typeof schema>;
/** A pod as people write it, before its defaults are filled in. */
export type PodSpecInput = z.input<typeof schema>;
export const podSpecSchema: z.ZodType<PodSpec, PodSpecInput> = schema;
