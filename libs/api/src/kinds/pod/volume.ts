import { z } from 'zod';
import { core, flag, plainFlag, quantitySchema, requiredText, text, textMap } from '../fields.ts';
import { objectMetaSchema } from '../../meta.ts';
import { claimSpecSchema } from '../workload/claim.ts';
import { defaultMode, downwardAPIVolumeFileSchema, items } from './files.ts';
import { projectedVolumeSourceSchema } from './projection.ts';
import { localObjectReferenceSchema } from './reference.ts';

export const hostPathSchema = core('HostPathVolumeSource', 'A file or directory of the node', {
  path: requiredText('Path on the node'),
  type: z.enum(['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket']).default('').describe('What must be there, or is made'),
});

export const nfsSchema = core('NFSVolumeSource', 'A directory of an NFS server', { server: requiredText('Address of the server'), path: requiredText('Directory that it exports'), readOnly: plainFlag('Nothing can be written') });

const sources = {
  hostPath: hostPathSchema.optional().describe('A file or directory of the node, such as {path: /dir, type: Directory}'),
  emptyDir: core('EmptyDirVolumeSource', 'A directory that lives as long as the pod', {
    medium: z.string().optional().describe('Memory: kept in memory'),
    sizeLimit: quantitySchema.optional().describe('The most it may hold'),
  })
    .optional()
    .describe('A directory that lives as long as the pod'),
  configMap: core('ConfigMapVolumeSource', 'The keys of a ConfigMap as files', { name: text('Name of the ConfigMap'), items, defaultMode, optional: flag('When true it may be missing') })
    .optional()
    .describe('The keys of a ConfigMap as files'),
  secret: core('SecretVolumeSource', 'The keys of a Secret as files', { secretName: text('Name of the Secret'), items, defaultMode, optional: flag('When true it may be missing') })
    .optional()
    .describe('The keys of a Secret as files'),
  downwardAPI: core('DownwardAPIVolumeSource', 'Fields of the pod as files', { items: z.array(downwardAPIVolumeFileSchema).optional().describe('The files'), defaultMode })
    .optional()
    .describe('Fields of the pod as files'),
  projected: projectedVolumeSourceSchema.optional().describe('Several sources in one directory'),
  persistentVolumeClaim: core('PersistentVolumeClaimVolumeSource', 'The volume of a claim', { claimName: requiredText('Name of the claim'), readOnly: plainFlag('Nothing can be written') })
    .optional()
    .describe('The volume of a claim'),
  nfs: nfsSchema.optional().describe('A directory of an NFS server'),
  csi: core('CSIVolumeSource', 'A volume of a storage driver', {
    driver: requiredText('Name of the driver'),
    readOnly: flag('Nothing can be written'),
    fsType: text('File system'),
    volumeAttributes: textMap('Settings for the driver'),
    nodePublishSecretRef: localObjectReferenceSchema.optional().describe('Secret for the driver'),
  })
    .optional()
    .describe('A volume of a storage driver'),
  ephemeral: core('EphemeralVolumeSource', 'A volume that is made and removed with the pod', {
    volumeClaimTemplate: core('PersistentVolumeClaimTemplate', 'What to make the claim from', {
      metadata: objectMetaSchema.optional(),
      spec: claimSpecSchema.describe('What the volume must be like'),
    })
      .optional()
      .describe('What to make the claim from'),
  })
    .optional()
    .describe('A volume that is made and removed with the pod'),
  image: core('ImageVolumeSource', 'The files of an image', { reference: text('The image'), pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional().describe('When it is pulled') })
    .optional()
    .describe('The files of an image'),
};

export const volumeSchema = core('Volume', 'Files that containers of the pod can be shown; an empty directory when it names no source', {
  name: requiredText('Name of the volume, unique in the pod'),
  ...sources,
});
export type Volume = z.infer<typeof volumeSchema>;
/** What a volume can be made of, without its name. */
export const volumeSources = Object.keys(sources) as (keyof typeof sources)[];
