import { z } from 'zod';
import { objectMetaSchema } from '../../meta.ts';
import { core, quantities, requiredText, saidText, shownTime, text, textMap, texts } from '../fields.ts';
import { workloadCondition } from './condition.ts';
import { labelSelectorSchema } from './selector.ts';

const dataSource = {
  apiGroup: saidText('Its API group'),
  kind: requiredText('Its kind'),
  name: requiredText('Its name'),
};

export const claimSpecSchema = core('PersistentVolumeClaimSpec', 'What a volume must be like', {
  accessModes: texts('How it is used: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod'),
  selector: labelSelectorSchema.optional().describe('Which volumes may be taken'),
  resources: core('VolumeResourceRequirements', 'How large it must be', { limits: quantities('The largest'), requests: quantities('The smallest') })
    .prefault({})
    .describe('How large it must be'),
  volumeName: text('The volume that was bound'),
  storageClassName: saidText('Class of storage'),
  volumeMode: z.enum(['Block', 'Filesystem']).default('Filesystem').describe('Filesystem or Block'),
  dataSource: core('TypedLocalObjectReference', 'Names an object in the same namespace', dataSource).optional().describe('What to fill it from'),
  dataSourceRef: core('TypedObjectReference', 'Names an object', { ...dataSource, namespace: text('Its namespace') }).optional().describe('What to fill it from'),
  volumeAttributesClassName: saidText('Class of attributes'),
});

export const claimStatusSchema = core('PersistentVolumeClaimStatus', 'State of a claim', {
  phase: z.string().default('Pending').describe('Pending, Bound or Lost'),
  accessModes: texts('How the volume can be used'),
  capacity: quantities('How large the volume is'),
  allocatedResources: quantities('How large it is being made'),
  allocatedResourceStatuses: textMap('How that goes'),
  conditions: z.array(workloadCondition('io.k8s.api.core.v1.PersistentVolumeClaimCondition', { lastProbeTime: shownTime('When it was last looked at') })).optional().describe('What holds of it'),
  currentVolumeAttributesClassName: text('Class of attributes that it has'),
});

/** A claim as a StatefulSet makes one for each of its pods. */
export const claimTemplateSchema = core('PersistentVolumeClaim', 'A claim for a volume', {
  apiVersion: z.string().default('v1').describe('Version of the schema of this object'),
  kind: z.string().default('PersistentVolumeClaim').describe('Kind of this object'),
  metadata: objectMetaSchema.prefault({}),
  spec: claimSpecSchema.describe('What the volume must be like'),
  status: claimStatusSchema.prefault({}).describe('State of the claim'),
});
