import type { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { objectOf } from '../object.ts';
import { claimSpecSchema, claimStatusSchema } from '../workload/claim.ts';

export const persistentVolumeClaimSchema = objectOf('v1', 'PersistentVolumeClaim', 'A claim for a volume', {
  spec: claimSpecSchema.prefault({}).describe('What the volume must be like'),
  status: claimStatusSchema.prefault({}).describe('State of the claim'),
});
export type PersistentVolumeClaimSpec = z.infer<typeof claimSpecSchema>;
export type PersistentVolumeClaimStatus = z.infer<typeof claimStatusSchema>;
export interface PersistentVolumeClaim extends KubeObject<PersistentVolumeClaimSpec, PersistentVolumeClaimStatus> {}
