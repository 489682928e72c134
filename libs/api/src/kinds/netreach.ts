import type { z } from 'zod';
import type { Kind } from '../kind.ts';
import type { AdmissionContext } from '../kind.ts';
import { budgetRules } from '../rules/budget.ts';
import { forbiddenField } from '../rules/causes.ts';
import type { NetReachSpec } from './spec.ts';
import type { RunnerStatus } from './task.ts';
import { findings } from '../rules/causes.ts';
import { scheduleRules } from '../rules/schedule.ts';
import { unsupportedRules } from '../rules/unsupported.ts';
import { completeTask } from './agent-spec.ts';
import { objectOf } from './object.ts';
import { netReachSpecSchema } from './spec.ts';
import { taskStatusSchema } from './task.ts';
import { taskColumns } from './task-columns.ts';

const schema = objectOf('roundsman.io/v1', 'NetReach', 'Tests from every node that every other one can be reached, by the ways it names', { spec: netReachSpecSchema.prefault({}), status: taskStatusSchema.optional().describe('How the task fares; written by Roundsman') });

/** Targets each runner would have: every address of a ready runner in the families asked for, its own too; at least one. */
function targetCount(target: NetReachSpec['target'], context: AdmissionContext): number {
  let count = 0;
  for (const runner of context.list('runners.roundsman.io')) {
    const status = runner.status as RunnerStatus | undefined;
    if (status?.ready !== true) continue;
    count += status.addresses.filter(({ family }) => (family === 'v4' ? target.ipv4 : target.ipv6)).length;
  }
  return Math.max(1, count);
}

export const netReach: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'NetReach',
  plural: 'netreaches',
  singular: 'netreach',
  shortNames: ['nr'],
  categories: ['roundsman'],
  namespaced: true,
  maxNameLength: 63,
  schema,
  complete: completeTask,
  hasStatus: true,
  columns: taskColumns,
  fieldSelectors: [],
  validate(object, context) {
    const { spec } = object as z.infer<typeof schema>;
    const found = findings();
    scheduleRules(spec.schedule, spec.request, found);
    if (!spec.target.ipv4 && !spec.target.ipv6) found.causes.push(forbiddenField('spec.target', 'at least one of ipv4 and ipv6 must be true'));
    const { endpoint, clusterIP, nodePort, loadBalancer, ingress } = spec.target;
    if (!(endpoint || clusterIP || nodePort || loadBalancer || ingress)) {
      found.causes.push(forbiddenField('spec.target', 'at least one of endpoint, clusterIP, nodePort, loadBalancer and ingress must be true'));
    }
    budgetRules(spec.request, targetCount(spec.target, context), context, found);
    unsupportedRules('NetReach', spec, context, found);
    return found;
  },
};
