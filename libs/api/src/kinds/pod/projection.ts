import { z } from 'zod';
import { core, flag, requiredText, text } from '../fields.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { defaultMode, downwardAPIVolumeFileSchema, items } from './files.ts';

const keysOf = (name: string, of: string) =>
  core(name, `The keys of a ${of} as files`, { name: text(`Name of the ${of}`), items, optional: flag('When true it may be missing') })
    .optional()
    .describe(`The keys of a ${of} as files`);

const volumeProjectionSchema = core('VolumeProjection', 'One of the sources of a projected volume', {
  configMap: keysOf('ConfigMapProjection', 'ConfigMap'),
  secret: keysOf('SecretProjection', 'Secret'),
  downwardAPI: core('DownwardAPIProjection', 'Fields of the pod as files', { items: z.array(downwardAPIVolumeFileSchema).optional().describe('The files') })
    .optional()
    .describe('Fields of the pod as files'),
  serviceAccountToken: core('ServiceAccountTokenProjection', 'A token of the service account', {
    audience: text('For whom the token is'),
    expirationSeconds: z.number().int().default(3600).describe('Seconds that it is valid'),
    path: requiredText('Path of the file in the volume'),
  })
    .optional()
    .describe('A token of the service account'),
  clusterTrustBundle: core('ClusterTrustBundleProjection', 'Certificates that the cluster trusts', {
    name: text('Name of the bundle'),
    signerName: text('Signer whose bundles are taken'),
    labelSelector: labelSelectorSchema.optional().describe('Which bundles of the signer'),
    optional: flag('When true it may be missing'),
    path: requiredText('Path of the file in the volume'),
  })
    .optional()
    .describe('Certificates that the cluster trusts'),
});
export type VolumeProjection = z.infer<typeof volumeProjectionSchema>;

export const projectedVolumeSourceSchema = core('ProjectedVolumeSource', 'Several sources in one directory', {
  sources: z.array(volumeProjectionSchema).optional().describe('The sources'),
  defaultMode,
});
