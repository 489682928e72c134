import { z } from 'zod';
import { objectOf } from '../object.ts';
import { deleteOptionsSchema } from './delete-options.ts';

/** Sent to `pods/NAME/eviction`. */
export const evictionSchema = objectOf('policy/v1', 'Eviction', 'Asks to delete a pod, unless a disruption budget is against it', {
  deleteOptions: deleteOptionsSchema.optional().describe('How to delete it'),
});
export type Eviction = z.infer<typeof evictionSchema>;
