import { z } from 'zod';

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const text = (description: string): object => ({ type: 'string', description });
/** Only described: every write carries them, made by the gateway, and looking into each again would take its time. */
const managedFieldsSchema = z.looseObject({}).meta({
  id: `${prefix}.ManagedFieldsEntry`,
  description: 'Fields of one manager',
  properties: {
    apiVersion: text('Version of the object in which the paths hold'),
    fieldsType: text('FieldsV1'),
    fieldsV1: { description: 'The fields, as a tree', allOf: [{ $ref: `#/components/schemas/${prefix}.FieldsV1` }] },
    manager: text('Who manages them'),
    operation: text('Apply or Update'),
    subresource: text('Part of the object through which they were written'),
    time: text('When they last changed, RFC 3339'),
  },
});

/** metadata of every object, as Kubernetes has it. Times are RFC 3339 with whole seconds, `Z`. */
export const objectMetaSchema = z
  .object({
    name: z.string().optional().describe('Name, unique within the namespace; cannot be changed'),
    generateName: z.string().optional().describe('Prefix from which the server makes a unique name when none is given'),
    namespace: z.string().optional().describe('Namespace of the object; empty for cluster-scoped kinds'),
    uid: z.string().optional().describe('Identity of this very object in time and space; set by the server'),
    resourceVersion: z.string().optional().describe('Opaque version of the object. When sent with a write, it must still be the current one'),
    generation: z.number().int().optional().describe('Counts changes of the desired state; set by the server'),
    creationTimestamp: z.string().nullish().describe('When the object was created, RFC 3339; set by the server'),
    deletionTimestamp: z.string().nullish().describe('Set by the server when deletion was asked for and finalizers remain'),
    deletionGracePeriodSeconds: z.number().int().nullish().describe('Seconds the object was given to end; set by the server'),
    labels: z.record(z.string(), z.string()).nullish().describe('Key and value pairs to select objects by'),
    annotations: z.record(z.string(), z.string()).nullish().describe('Key and value pairs that are kept with the object'),
    finalizers: z.array(z.string()).nullish().describe('Must be empty before the object is removed'),
    ownerReferences: z
      .array(
        z
          .object({
            apiVersion: z.string().describe('API version of the owner'),
            kind: z.string().describe('Kind of the owner'),
            name: z.string().describe('Name of the owner'),
            uid: z.string().describe('UID of the owner'),
            controller: z.boolean().optional().describe('Whether the owner manages this object'),
            blockOwnerDeletion: z.boolean().optional().describe('Whether the owner waits for this object'),
          })
          .meta({ id: `${prefix}.OwnerReference`, description: 'An object on which another one depends' }),
      )
      .nullish()
      .describe('Objects this one depends on; when all are gone it is removed'),
    managedFields: z.array(managedFieldsSchema).nullish().describe('Which manager set which fields'),
    selfLink: z.string().optional().describe('No longer set'),
  })
  .meta({ id: `${prefix}.ObjectMeta`, description: 'Standard metadata of an object' });
/** Members that Kubernetes lets a client send as null are absent once stored. */
export type ObjectMeta = { [K in keyof z.infer<typeof objectMetaSchema>]: Exclude<z.infer<typeof objectMetaSchema>[K], null> };

/** metadata of an object that intake has stored: these members are always there (`generation` only in kinds that have one: Kind.generationOf). */
export type StoredMeta = ObjectMeta & { name: string; uid: string; resourceVersion: string; generation: number; creationTimestamp: string };

/** Any stored object. `Spec` and `Status` are named by the kinds that have them. */
export interface KubeObject<Spec = unknown, Status = unknown> {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: Spec;
  status?: Status;
}

export const conditionSchema = z.object({
  type: z.string().describe('What is told about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: z.string().describe('One word why'),
  message: z.string().describe('Why, in words'),
  lastTransitionTime: z.string().describe('When the status last changed, RFC 3339'),
  observedGeneration: z.number().int().optional().describe('Generation of the object that this is about'),
});
export type Condition = z.infer<typeof conditionSchema>;
