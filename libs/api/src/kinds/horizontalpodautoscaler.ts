import { ageColumn, column, nameColumn, numberAt, textAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { autoscalerRules } from '../rules/autoscaler.ts';
import { completeAutoscaler, fillRequired } from './horizontalpodautoscaler/defaults.ts';
import { horizontalPodAutoscalerSchema } from './horizontalpodautoscaler/schema.ts';
import { targetsText } from './horizontalpodautoscaler/targets-column.ts';

export const horizontalPodAutoscaler: Kind = {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  schema: horizontalPodAutoscalerSchema,
  emptyIsAbsent: true,
  prepare: fillRequired,
  complete: completeAutoscaler,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Reference', 'string', 'What is scaled', (object) => `${textAt(object, 'spec', 'scaleTargetRef', 'kind')}/${textAt(object, 'spec', 'scaleTargetRef', 'name')}`),
    column('Targets', 'string', 'What each metric is, and what it is to be', targetsText),
    column('MinPods', 'string', 'The fewest pods', (object) => String(numberAt(object, 'spec', 'minReplicas') ?? '<unset>')),
    column('MaxPods', 'string', 'The most pods', (object) => numberAt(object, 'spec', 'maxReplicas') ?? 0),
    column('Replicas', 'string', 'Pods there are', (object) => numberAt(object, 'status', 'currentReplicas') ?? 0),
    ageColumn,
  ],
  fieldSelectors: [],
  validate: autoscalerRules,
};
