import type { KubeObject } from '../../meta.ts';
import { objectOf } from '../object.ts';
import { podSpecSchema, type PodSpec } from './spec.ts';
import { podStatusSchema, type PodStatus } from './status.ts';

export const podSchema = objectOf('v1', 'Pod', 'Containers that run together on one node and share an address', {
  spec: podSpecSchema.describe('What it is made of and where it may run'),
  status: podStatusSchema.optional().describe('What was observed of it'),
});
export interface Pod extends KubeObject<PodSpec, PodStatus> {}
