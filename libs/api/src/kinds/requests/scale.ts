import { z } from 'zod';
import { message, text } from '../fields.ts';
import { objectOf } from '../object.ts';

/** Read from and sent to `RESOURCE/NAME/scale`. */
export const scaleSchema = objectOf('autoscaling/v1', 'Scale', 'How many pods something has', {
  spec: message('io.k8s.api.autoscaling.v1.ScaleSpec', 'How many are wanted', { replicas: z.number().int().min(0).default(0).describe('How many pods are wanted') })
    .prefault({})
    .describe('How many are wanted'),
  status: message('io.k8s.api.autoscaling.v1.ScaleStatus', 'How many there are', {
    replicas: z.number().int().default(0).describe('How many pods there are'),
    selector: text('How they are chosen, as in a query'),
  })
    .optional()
    .describe('How many there are'),
});
export type Scale = z.infer<typeof scaleSchema>;
