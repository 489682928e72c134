import { z } from 'zod';
import { ageColumn, column, nameColumn, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { flag } from './fields.ts';
import { objectOf } from './object.ts';
import { localObjectReferenceSchema, objectReferenceSchema } from './pod/reference.ts';

const schema = objectOf('v1', 'ServiceAccount', 'Whom the processes of pods act as', {
  secrets: z.array(objectReferenceSchema).optional().describe('Secrets that its pods may use'),
  imagePullSecrets: z.array(localObjectReferenceSchema).optional().describe('Secrets that its pods pull images with'),
  automountServiceAccountToken: flag('Whether its pods get a token'),
});
export type ServiceAccount = Omit<z.infer<typeof schema>, 'metadata'> & Pick<KubeObject, 'metadata'>;

export const serviceAccount: Kind = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: [],
  namespaced: true,
  schema,
  hasStatus: false,
  columns: [
    nameColumn,
    column('Secrets', 'string', 'Number of secrets', (object) => {
      const secrets = valueAt(object, 'secrets');
      return Array.isArray(secrets) ? secrets.length : 0;
    }),
    ageColumn,
  ],
  fieldSelectors: [],
  generationOf: () => undefined,
};
