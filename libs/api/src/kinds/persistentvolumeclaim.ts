import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { persistentVolumeClaimRules } from '../rules/storage/claim.ts';
import { accessModesText, attributesColumn, classColumn, modeColumn, phaseText } from './persistentvolume/columns.ts';
import { persistentVolumeClaimSchema } from './persistentvolumeclaim/schema.ts';

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
  schema: persistentVolumeClaimSchema,
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
