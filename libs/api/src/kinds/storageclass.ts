import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { storageClassRules } from '../rules/storage/storage-class.ts';
import { isDefaultClass } from '../storage/matching.ts';
import { storageClassSchema, type StorageClass } from './storageclass/schema.ts';

export const storageClass: Kind = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  singular: 'storageclass',
  shortNames: ['sc'],
  categories: [],
  namespaced: false,
  schema: storageClassSchema,
  hasStatus: false,
  columns: [
    { ...nameColumn, cell: (object) => `${object.metadata.name}${isDefaultClass(object as unknown as StorageClass) ? ' (default)' : ''}` },
    column('Provisioner', 'string', 'Who makes the volumes', (object) => textAt(object, 'provisioner') ?? ''),
    column('ReclaimPolicy', 'string', 'What becomes of the volumes when their claims are gone', (object) => textAt(object, 'reclaimPolicy') ?? 'Delete'),
    column('VolumeBindingMode', 'string', 'When a volume is made', (object) => textAt(object, 'volumeBindingMode') ?? 'Immediate'),
    column('AllowVolumeExpansion', 'string', 'Whether claims may grow', (object) => String(valueAt(object, 'allowVolumeExpansion') === true)),
    ageColumn,
  ],
  fieldSelectors: [],
  validate: storageClassRules,
  generationOf: () => undefined,
};
