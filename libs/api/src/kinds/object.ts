import { z } from 'zod';
import { objectMetaSchema } from '../meta.ts';

/** Schema of a whole object: its type, metadata, and the members of its kind. `about` is what `kubectl explain` says first. */
export function objectOf<const Shape extends z.ZodRawShape>(apiVersion: string, kind: string, about: string, shape: Shape) {
  return z
    .object({
      apiVersion: z.literal(apiVersion).describe('Version of the schema of this object'),
      kind: z.literal(kind).describe('Kind of this object'),
      metadata: objectMetaSchema.prefault({}),
      ...shape,
    })
    .describe(about);
}
