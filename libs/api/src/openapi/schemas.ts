import { z } from 'zod';
import { statusCodes } from '../errors.ts';
import { apiVersionOf, type Kind } from '../kind.ts';
import { deleteOptionsSchema } from '../kinds/requests/delete-options.ts';
import { objectMetaSchema } from '../meta.ts';

/** A JSON Schema as OpenAPI 3.0 has it. */
export type Schema = { [member: string]: unknown };

/** `io.roundsman.v1.NetReach`, `io.k8s.api.core.v1.Secret`: unique over all groups. */
export const schemaName = ({ group, version, kind }: Pick<Kind, 'group' | 'version' | 'kind'>): string => {
  const [first = ''] = group.split('.');
  const ofKubernetes = !group.includes('.') || group.endsWith('.k8s.io');
  return `${ofKubernetes ? `io.k8s.api.${first || 'core'}` : group.split('.').reverse().join('.')}.${version}.${kind}`;
};

const metaPrefix = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const metaNames = {
  objectMeta: `${metaPrefix}.ObjectMeta`,
  listMeta: `${metaPrefix}.ListMeta`,
  status: `${metaPrefix}.Status`,
  deleteOptions: `${metaPrefix}.DeleteOptions`,
  patch: `${metaPrefix}.Patch`,
  fieldsV1: `${metaPrefix}.FieldsV1`,
} as const;
export const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/**
 * From a zod schema, as a caller may write it: what has a default need not be given. What has a name of its own in the API
 * stands beside it in `named` and is referred to.
 */
export function fromZod(schema: z.ZodType): { schema: Schema; named: Record<string, Schema> } {
  const made = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema;
  const { definitions = {}, id: _id, ...own } = made;
  const named = definitions as Record<string, Schema>;
  const tidied = Object.fromEntries(Object.entries(named).map(([name, one]) => [name, tidy(one, named) as Schema]));
  return { schema: tidy(own, named) as Schema, named: tidied };
}

const definition = '#/definitions/';

/** Whole numbers are int64, not bounded by what JavaScript can count; base64 is `byte`; references lead to where documents keep schemas. */
function tidy(value: unknown, named: Readonly<Record<string, Schema>>): unknown {
  if (Array.isArray(value)) return value.map((item) => tidy(item, named));
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, tidy(member, named)])) as Schema;
  const target = schema['$ref'];
  if (typeof target === 'string' && target.startsWith(definition)) return reference(target.slice(definition.length));
  // A member that says nothing more than what it refers to says that.
  const [only] = (value as { allOf?: Schema[] }).allOf ?? [];
  if (schema['description'] === undefined && typeof only?.['$ref'] === 'string') schema['description'] = named[only['$ref'].slice(definition.length)]?.['description'];
  if (schema['type'] === 'integer') {
    schema['format'] = 'int64';
    if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
    if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
    // `greater than 0` of whole numbers is `from 1`, which readers understand.
    if (schema['exclusiveMinimum'] === true) {
      schema['minimum'] = Number(schema['minimum']) + 1;
      delete schema['exclusiveMinimum'];
    }
  }
  if (schema['contentEncoding'] === 'base64') {
    delete schema['contentEncoding'];
    schema['format'] = 'byte';
  }
  return schema;
}

/** Schema of one object of a kind, and of a list of them. */
export function kindSchemas(kind: Kind): Record<string, Schema> {
  const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
  const { schema, named } = fromZod(kind.schema);
  const properties = schema['properties'] as Record<string, Schema>;
  properties['metadata'] = { description: 'Standard metadata of an object', default: {}, allOf: [reference(metaNames.objectMeta)] };
  // The path tells both; a body may leave them out. So it may an empty spec of what Kubernetes has too.
  const required = ((schema['required'] ?? []) as string[]).filter((name) => name !== 'apiVersion' && name !== 'kind' && (name !== 'spec' || kind.emptyIsAbsent !== true));
  for (const name of ['apiVersion', 'kind']) delete properties[name]?.['enum'];
  const { required: _required, ...rest } = schema;
  return {
    ...named,
    [schemaName(kind)]: { ...rest, ...(required.length > 0 && { required }), 'x-kubernetes-group-version-kind': [gvk] },
    [`${schemaName(kind)}List`]: {
      type: 'object',
      description: `A list of ${kind.kind} objects`,
      properties: {
        apiVersion: { type: 'string', enum: [apiVersionOf(kind)] },
        kind: { type: 'string', enum: [`${kind.kind}List`] },
        metadata: reference(metaNames.listMeta),
        items: { type: 'array', description: 'The objects', items: reference(schemaName(kind)) },
      },
      required: ['apiVersion', 'kind', 'metadata', 'items'],
      'x-kubernetes-group-version-kind': [{ ...gvk, kind: `${kind.kind}List` }],
    },
  };
}

const text = (description: string): Schema => ({ type: 'string', description });

/** Schemas that all groups use. */
export function metaSchemas(): Record<string, Schema> {
  return {
    // What has a name of its own stands below it, and not where it was asked for.
    ...fromZod(objectMetaSchema).named,
    [metaNames.fieldsV1]: { type: 'object', description: 'Fields as a tree: f:NAME a member, k:{...} an item of a list by its keys, v:VALUE one of a set' },
    [metaNames.listMeta]: {
      type: 'object',
      description: 'Metadata of a list',
      properties: {
        resourceVersion: text('Version to watch from'),
        continue: text('For the next page; absent or empty on the last'),
        remainingItemCount: { type: 'integer', format: 'int64', description: 'Objects on the pages to come, where known' },
        selfLink: text('No longer set'),
      },
    },
    [metaNames.status]: {
      type: 'object',
      description: 'The answer to a request that returns no object, and to every refused one',
      properties: {
        apiVersion: { type: 'string', enum: ['v1'] },
        kind: { type: 'string', enum: ['Status'] },
        metadata: reference(metaNames.listMeta),
        status: { type: 'string', enum: ['Success', 'Failure'], description: 'Whether it was done' },
        message: text('What is wrong, in words'),
        reason: { type: 'string', enum: Object.keys(statusCodes), description: 'Why, from a closed list' },
        code: { type: 'integer', format: 'int32', description: 'HTTP status' },
        details: {
          type: 'object',
          description: 'What it is about',
          properties: {
            name: text('Name of the object'),
            group: text('API group'),
            kind: text('Kind or resource'),
            uid: text('UID of the object'),
            retryAfterSeconds: { type: 'integer', format: 'int32', description: 'Seconds after which to try again' },
            causes: {
              type: 'array',
              description: 'One entry per field that is wrong',
              items: {
                type: 'object',
                properties: { reason: text('Why, in a word'), message: text('Why, in words'), field: text('Path of the field, such as spec.request.qps') },
              },
            },
          },
        },
      },
      required: ['kind', 'apiVersion', 'status'],
    },
    ...fromZod(deleteOptionsSchema).named,
    [metaNames.patch]: { type: 'object', description: 'The members to change; null removes one' },
  };
}
