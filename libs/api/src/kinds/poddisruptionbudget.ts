import { ageColumn, column, nameColumn, numberAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { disruptionBudgetRules } from '../rules/disruption.ts';
import { podDisruptionBudgetSchema, type PodDisruptionBudgetStatus } from './poddisruptionbudget/schema.ts';

export const podDisruptionBudget: Kind = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  categories: [],
  namespaced: true,
  schema: podDisruptionBudgetSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Min Available', 'string', 'How many must stay', limitText('minAvailable')),
    column('Max Unavailable', 'string', 'How many may be missing', limitText('maxUnavailable')),
    column('Allowed Disruptions', 'integer', 'How many may be evicted now', (object) => numberAt(object, 'status', 'disruptionsAllowed') ?? 0),
    ageColumn,
  ],
  fieldSelectors: [],
  validate: disruptionBudgetRules,
};

function limitText(member: string): (object: KubeObject) => string {
  return (object) => {
    const limit = valueAt(object, 'spec', member) as number | string | undefined;
    return limit === undefined ? 'N/A' : String(limit);
  };
}

function complete(object: KubeObject): void {
  object.status ??= { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } satisfies PodDisruptionBudgetStatus;
}
