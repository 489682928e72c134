import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { storageClassRules } from '../rules/storage/storage-class.ts';
import { isDefaultClass } from '../storage/matching.ts';
import { core, flag, requiredText, textMap, texts } from './fields.ts';
import { objectOf } from './object.ts';

const topologySchema = core('TopologySelectorTerm', 'Labels that a node must have', {
  matchLabelExpressions: z
    .array(core('TopologySelectorLabelRequirement', 'A label with one of several values', { key: requiredText('Key of the label'), values: z.array(z.string()).describe('Its values') }))
    .optional()
    .describe('All must hold'),
});

const schema = objectOf('storage.k8s.io/v1', 'StorageClass', 'How volumes are made for claims of this class', {
  provisioner: z.string().default('').describe('Who makes the volumes: roundsman.io/local, roundsman.io/nfs, kubernetes.io/no-provisioner, or a program of its own'),
  parameters: textMap('Settings for the provisioner'),
  reclaimPolicy: z.enum(['Delete', 'Retain']).default('Delete').describe('What becomes of the volumes when their claims are gone'),
  mountOptions: texts('Options the volumes are mounted with'),
  allowVolumeExpansion: flag('Whether claims may grow'),
  volumeBindingMode: z.enum(['Immediate', 'WaitForFirstConsumer']).default('Immediate').describe('When a volume is made: at once, or when a pod that uses it has a node'),
  allowedTopologies: z.array(topologySchema).optional().describe('Nodes that volumes may be made on'),
});
export type StorageClass = Omit<z.infer<typeof schema>, 'metadata'> & Pick<KubeObject, 'metadata'>;

export const storageClass: Kind = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  singular: 'storageclass',
  shortNames: ['sc'],
  categories: [],
  namespaced: false,
  schema,
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
