import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { core, quantities, requiredText, saidText, shownTime, text, texts } from '../fields.ts';
import { objectOf } from '../object.ts';
import { nodeSelectorSchema } from '../pod/affinity.ts';
import { objectReferenceSchema } from '../pod/reference.ts';
import { hostPathSchema, nfsSchema } from '../pod/volume.ts';

const sources = {
  hostPath: hostPathSchema.optional().describe('A directory of the node'),
  local: core('LocalVolumeSource', 'A directory of one node, which is there', { path: requiredText('Path on the node'), fsType: text('File system, of a device') })
    .optional()
    .describe('A directory of one node, which is there; nodeAffinity says which node'),
  nfs: nfsSchema.optional().describe('A directory of an NFS server'),
};
/** What a persistent volume can be made of. */
export const persistentVolumeSources = Object.keys(sources) as (keyof typeof sources)[];

const specSchema = core('PersistentVolumeSpec', 'What a volume is', {
  capacity: quantities('How large it is: storage'),
  ...sources,
  accessModes: texts('How it can be used: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod'),
  claimRef: objectReferenceSchema.optional().describe('The claim that it is bound to, or set aside for'),
  persistentVolumeReclaimPolicy: z.enum(['Delete', 'Recycle', 'Retain']).default('Retain').describe('What becomes of it when its claim is gone'),
  storageClassName: text('Class of storage; none: only for claims that want none'),
  mountOptions: texts('Options it is mounted with'),
  volumeMode: z.enum(['Block', 'Filesystem']).default('Filesystem').describe('Filesystem or Block'),
  nodeAffinity: core('VolumeNodeAffinity', 'From which nodes it can be reached', { required: nodeSelectorSchema.optional().describe('The node must fit') })
    .optional()
    .describe('From which nodes it can be reached'),
  volumeAttributesClassName: saidText('Class of attributes'),
});
const statusSchema = core('PersistentVolumeStatus', 'State of a volume', {
  phase: z.enum(['Pending', 'Available', 'Bound', 'Released', 'Failed']).default('Pending').describe('Pending, Available, Bound, Released or Failed'),
  message: text('Why it is in that state, in words'),
  reason: text('One word why it failed'),
  lastPhaseTransitionTime: shownTime('When the phase last changed'),
});
export type PersistentVolumeSpec = z.infer<typeof specSchema>;
export type PersistentVolumeStatus = z.infer<typeof statusSchema>;
export interface PersistentVolume extends KubeObject<PersistentVolumeSpec, PersistentVolumeStatus> {}

export const persistentVolumeSchema = objectOf('v1', 'PersistentVolume', 'Storage that exists apart from any pod', {
  spec: specSchema.prefault({}).describe('What it is'),
  status: statusSchema.prefault({}).describe('State of it'),
});
