import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { flag, text } from '../fields.ts';
import { objectOf } from '../object.ts';

export const priorityClassSchema = objectOf('scheduling.k8s.io/v1', 'PriorityClass', 'How important pods are', {
  value: z.number().int().describe('How important its pods are; higher is more'),
  globalDefault: flag('Whether it is for pods that name none'),
  description: text('When to use it'),
  preemptionPolicy: z.enum(['Never', 'PreemptLowerPriority']).default('PreemptLowerPriority').describe('Whether less important pods may be ended for its pods'),
});
export type PriorityClass = Omit<z.infer<typeof priorityClassSchema>, 'metadata'> & Pick<KubeObject, 'metadata'>;
