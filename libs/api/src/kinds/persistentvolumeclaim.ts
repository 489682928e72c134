import type { z } from 'zod';
import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { persistentVolumeClaimRules } from '../rules/storage/claim.ts';
import { objectOf } from './object.ts';
import { accessModesText, attributesColumn, classColumn, modeColumn, phaseText } from './persistentvolume/columns.ts';
import { claimSpecSchema, claimStatusSchema } from './workload/claim.ts';

const schema = objectOf('v1', 'PersistentVolumeClaim', 'A claim for a volume', {
  spec: claimSpecSchema.prefault({}).describe('What the volume must be like'),
  status: claimStatusSchema.prefault({}).describe('State of the claim'),
});
export type PersistentVolumeClaimSpec = z.infer<typeof claimSpecSchema>;
export type PersistentVolumeClaimStatus = z.infer<typeof claimStatusSchema>;
export interface PersistentVolumeClaim extends KubeObject<PersistentVolumeClaimSpec, PersistentVolumeClaimStatus> {}

/** Shown only of a claim that has, or had, a volume. */
const ofVolume = (cell: (object: KubeObject) => string) => (object: KubeObject): string => ((textAt(object, 'spec', 'volumeName') ?? '') === '' ? '' : cell(object));

export const persistentVolumeClaim: Kind = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  categories: [],
  namespaced: true,
  schema,
  emptyIsAbsent: true,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Status', 'string', 'Pending, Bound or Lost', phaseText),
    column('Volume', 'string', 'The volume that was bound', (object) => textAt(object, 'spec', 'volumeName') ?? ''),
    column('Capacity', 'string', 'How large the volume is', ofVolume((object) => textAt(object, 'status', 'capacity', 'storage') ?? '0')),
    column('Access Modes', 'string', 'How the volume can be used', ofVolume((object) => accessModesText(valueAt(object, 'status', 'accessModes')))),
    classColumn,
    attributesColumn,
    ageColumn,
    modeColumn,
  ],
  fieldSelectors: [],
  validate: persistentVolumeClaimRules,
  generationOf: () => undefined,
};
