import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { core, flag, requiredText, textMap, texts } from '../fields.ts';
import { objectOf } from '../object.ts';

const topologySchema = core('TopologySelectorTerm', 'Labels that a node must have', {
  matchLabelExpressions: z
    .array(core('TopologySelectorLabelRequirement', 'A label with one of several values', { key: requiredText('Key of the label'), values: z.array(z.string()).describe('Its values') }))
    .optional()
    .describe('All must hold'),
});

export const storageClassSchema = objectOf('storage.k8s.io/v1', 'StorageClass', 'How volumes are made for claims of this class', {
  provisioner: z.string().default('').describe('Who makes the volumes: roundsman.io/local, roundsman.io/nfs, kubernetes.io/no-provisioner, or a program of its own'),
  parameters: textMap('Settings for the provisioner'),
  reclaimPolicy: z.enum(['Delete', 'Retain']).default('Delete').describe('What becomes of the volumes when their claims are gone'),
  mountOptions: texts('Options the volumes are mounted with'),
  allowVolumeExpansion: flag('Whether claims may grow'),
  volumeBindingMode: z.enum(['Immediate', 'WaitForFirstConsumer']).default('Immediate').describe('When a volume is made: at once, or when a pod that uses it has a node'),
  allowedTopologies: z.array(topologySchema).optional().describe('Nodes that volumes may be made on'),
});
export type StorageClass = Omit<z.infer<typeof storageClassSchema>, 'metadata'> & Pick<KubeObject, 'metadata'>;
