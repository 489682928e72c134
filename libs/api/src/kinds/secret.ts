import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { dataRules } from '../rules/data.ts';
import { invalidValue, required } from '../rules/causes.ts';
import { objectOf } from './object.ts';

const schema = objectOf('v1', 'Secret', 'Confidential data for others to use', {
  type: z.string().default('Opaque').describe('What the secret holds; cannot be changed'),
  immutable: z.boolean().optional().describe('When true, data cannot be changed any more'),
  data: z.record(z.string(), z.base64()).nullish().describe('Bytes by key, base64'),
  stringData: z.record(z.string(), z.string()).nullish().describe('Texts by key; written into data, never read back'),
});

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((text) => typeof text === 'string');

export const secret: Kind = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema,
  hasStatus: false,
  confidential: ['data', 'stringData'],
  columns: [
    nameColumn,
    column('Type', 'string', 'What the secret holds', (object) => textAt(object, 'type') ?? 'Opaque'),
    column('Data', 'integer', 'Number of keys', (object) => Object.keys(valueAt(object, 'data') ?? {}).length),
    ageColumn,
  ],
  fieldSelectors: ['type'],
  prepare(object) {
    const texts = object['stringData'];
    // Anything else is left for the schema to refuse.
    const given = object['data'] ?? {};
    if (!isTexts(texts) || typeof given !== 'object' || Array.isArray(given)) return;
    const data: Record<string, unknown> = { ...given };
    for (const [key, text] of Object.entries(texts)) data[key] = Buffer.from(text).toString('base64');
    object['data'] = data;
    delete object['stringData'];
  },
  validate(object, context) {
    const found = dataRules(object, context.old, ['data']);
    const { type, data } = object as unknown as z.infer<typeof schema>;
    const before = context.old && textAt(context.old, 'type');
    if (before !== undefined && before !== type) found.causes.push(invalidValue('type', type, 'field is immutable'));
    if (type === 'kubernetes.io/tls') {
      for (const key of ['tls.crt', 'tls.key']) if (data?.[key] === undefined) found.causes.push(required(`data[${key}]`, ''));
    }
    return found;
  },
  generationOf: () => undefined,
};
