import type { z } from 'zod';
import type { Kind } from '../kind.ts';
import { agentSpecRules } from '../rules/agent-spec.ts';
import { budgetRules } from '../rules/budget.ts';
import { carrierOf } from '../rules/carrier.ts';
import { findings } from '../rules/causes.ts';
import { reachRules } from '../rules/reach.ts';
import { scheduleRules } from '../rules/schedule.ts';
import { reachTargets } from '../rules/target-count.ts';
import { unsupportedRules } from '../rules/unsupported.ts';
import { completeTask } from './agent-spec.ts';
import { objectOf } from './object.ts';
import { netReachSpecSchema } from './spec.ts';
import { taskStatusSchema } from './task.ts';
import { taskColumns } from './task-columns.ts';

const schema = objectOf('roundsman.io/v1', 'NetReach', 'Tests from every node that every other one can be reached, by the ways it names', { spec: netReachSpecSchema.prefault({}), status: taskStatusSchema.optional().describe('How the task fares; written by Roundsman') });

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
    const task = object as z.infer<typeof schema>;
    const { spec } = task;
    const found = findings();
    scheduleRules(spec.schedule, spec.request, found);
    reachRules(spec.target, context, found);
    const carrier = carrierOf('NetReach', task, context);
    budgetRules(spec.request, reachTargets(spec, carrier, context), carrier, context, found);
    agentSpecRules(object, context, found);
    unsupportedRules('NetReach', spec, context, found);
    return found;
  },
};
