import { z } from 'zod';

/** metadata of every object, as Kubernetes has it. Times are RFC 3339 with whole seconds, `Z`. */
export const objectMetaSchema = z.object({
  name: z.string().optional(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().int().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.number().int().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z
    .array(z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string(), controller: z.boolean().optional(), blockOwnerDeletion: z.boolean().optional() }))
    .optional(),
  managedFields: z.array(z.looseObject({})).optional(),
  selfLink: z.string().optional(),
});
export type ObjectMeta = z.infer<typeof objectMetaSchema>;

/** metadata of an object that intake has stored: these members are always there. */
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
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.number().int().optional(),
});
export type Condition = z.infer<typeof conditionSchema>;
