import { z } from 'zod';
import { objectMetaSchema, type ObjectMeta } from '../../meta.ts';
import { core } from '../fields.ts';
import { podSpecSchema, type PodSpec, type PodSpecInput } from '../pod/spec.ts';

const schema = core('PodTemplateSpec', 'What pods are made from', {
  metadata: objectMetaSchema.prefault({}).describe('Labels and annotations of the pods'),
  spec: podSpecSchema.describe('What the pods are made of'),
});
/** Metadata of what objects are made from: Kubernetes always shows its creation time, as null. */
export type TemplateMeta = Omit<ObjectMeta, 'creationTimestamp'> & { creationTimestamp?: string | null | undefined };
export interface PodTemplateSpec {
  metadata: TemplateMeta;
  spec: PodSpec;
}
// The nulls that the schema of metadata takes are gone once an object is read.
export const podTemplateSchema = schema as unknown as z.ZodType<PodTemplateSpec, { metadata?: TemplateMeta; spec: PodSpecInput }>;
