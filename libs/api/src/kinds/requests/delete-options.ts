import { z } from 'zod';
import { message, text, texts, whole } from '../fields.ts';

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const deleteOptionsSchema = message(`${prefix}.DeleteOptions`, 'How to delete', {
  apiVersion: text('Version of this schema'),
  kind: text('DeleteOptions'),
  gracePeriodSeconds: whole('Seconds the object may take to end; 0 means at once. The default of the object unless set'),
  preconditions: message(`${prefix}.Preconditions`, 'Refuse unless they hold', { uid: text('UID the object must have'), resourceVersion: text('Version the object must have') })
    .optional()
    .describe('Refuse unless they hold'),
  orphanDependents: z.boolean().optional().describe('Old form of propagationPolicy: true means Orphan'),
  propagationPolicy: z.enum(['Background', 'Foreground', 'Orphan']).optional().describe('What becomes of the objects that it owns'),
  dryRun: texts('All: check everything, change nothing'),
  ignoreStoreReadErrorWithClusterBreakingPotential: z.boolean().optional().describe('Taken, not used'),
});
export type DeleteOptions = z.infer<typeof deleteOptionsSchema>;
