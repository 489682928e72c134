import { defaultMetric, fillRequired } from '../../kinds/horizontalpodautoscaler/defaults.ts';
import { horizontalPodAutoscaler } from '../../kinds/horizontalpodautoscaler.ts';
import type { MetricSpec } from '../../kinds/horizontalpodautoscaler/metric.ts';
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from '../../kinds/horizontalpodautoscaler/schema.ts';
import { apiVersionOf, resourceKey } from '../../kind.ts';
import type { KubeObject, StoredMeta } from '../../meta.ts';
import { decode } from '../../validation/decode.ts';
import type { View } from '../view.ts';
import { behaviorOfGo, goBehavior } from './behavior-v1.ts';
import { flatSpec, flatStatus, specOfFlat, statusOfFlat } from './metrics-v1.ts';
import { autoscalerV1Schema, type AutoscalerSpecV1, type AutoscalerStatusV1 } from './schema.ts';

/** What v1 has no members for is in these, as Kubernetes puts it there. */
const annotation = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const;

/** The metric that v1 has a member for. */
const isProcessorShare = ({ type, resource }: MetricSpec): boolean => type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined;

/** What a shown object was made from: its columns are those of the stored one, whose metrics stand in the order of their state. */
const origins = new WeakMap<KubeObject, KubeObject>();

function toV1(object: KubeObject): KubeObject {
  const shown = shownOf(object);
  origins.set(shown, object);
  return shown;
}

function shownOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as HorizontalPodAutoscaler;
  const metrics = spec.metrics ?? [];
  const share = metrics.find(isProcessorShare)?.resource?.target.averageUtilization;
  const used = (status?.currentMetrics ?? []).findLast(({ resource }) => resource?.name === 'cpu' && resource.current.averageUtilization !== undefined)?.resource?.current.averageUtilization;
  const others = metrics.filter((metric) => !isProcessorShare(metric));
  const annotations = { ...withoutOurs(metadata.annotations) };
  const put = (name: string, value: unknown, when: boolean): void => void (when && (annotations[name] = JSON.stringify(value)));
  put(annotation.metrics, others.map(flatSpec), others.length > 0);
  put(annotation.currentMetrics, status?.currentMetrics?.map(flatStatus), (status?.currentMetrics ?? []).length > 0);
  put(annotation.behavior, spec.behavior && goBehavior(spec.behavior), spec.behavior !== undefined);
  put(annotation.conditions, status?.conditions?.map(({ type, status: holds, lastTransitionTime, reason, message }) => ({ type, status: holds, lastTransitionTime, reason, message })), (status?.conditions ?? []).length > 0);
  const { observedGeneration, lastScaleTime, currentReplicas = 0, desiredReplicas = 0 } = status ?? {};
  return {
    apiVersion: 'autoscaling/v1',
    kind: object.kind,
    metadata: withAnnotations(metadata, annotations) as StoredMeta,
    spec: { scaleTargetRef: spec.scaleTargetRef, minReplicas: spec.minReplicas, maxReplicas: spec.maxReplicas, ...(share === undefined ? {} : { targetCPUUtilizationPercentage: share }) } satisfies AutoscalerSpecV1,
    status: {
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
      currentReplicas,
      desiredReplicas,
      ...(used === undefined ? {} : { currentCPUUtilizationPercentage: used }),
    } satisfies AutoscalerStatusV1,
  };
}

function fromV1(object: KubeObject): KubeObject {
  const { metadata } = object;
  const { targetCPUUtilizationPercentage: share, ...spec } = object.spec as AutoscalerSpecV1;
  const kept = (name: string): unknown[] | undefined => {
    const value = parsed(metadata.annotations?.[name]);
    return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : undefined;
  };
  const metrics: MetricSpec[] = (kept(annotation.metrics) ?? []).map(specOfFlat);
  if (share !== undefined) metrics.push({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: share } } });
  const behavior = behaviorOfGo(parsed(metadata.annotations?.[annotation.behavior]));
  return {
    apiVersion: apiVersionOf(horizontalPodAutoscaler),
    kind: object.kind,
    metadata: withAnnotations(metadata, withoutOurs(metadata.annotations)) as StoredMeta,
    spec: { ...spec, metrics: metrics.length === 0 ? [defaultMetric()] : metrics, ...(behavior === undefined ? {} : { behavior }) } satisfies HorizontalPodAutoscalerSpec,
    ...(object.status === undefined ? {} : { status: statusFromV1(object.status as AutoscalerStatusV1, kept(annotation.currentMetrics), kept(annotation.conditions)) }),
  };
}

function statusFromV1({ currentCPUUtilizationPercentage: used, ...status }: AutoscalerStatusV1, metrics: unknown[] | undefined, conditions: unknown[] | undefined): HorizontalPodAutoscalerStatus {
  const currentMetrics = metrics?.map(statusOfFlat) ?? (used === undefined ? undefined : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: used } } }]);
  return { ...status, ...(currentMetrics === undefined ? {} : { currentMetrics }), ...(conditions === undefined ? {} : { conditions: conditions as never }) };
}

/** What cannot be read says nothing, as in Kubernetes. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const withoutOurs = (annotations: Readonly<Record<string, string>> = {}): Record<string, string> => Object.fromEntries(Object.entries(annotations).filter(([name]) => !(Object.values(annotation) as string[]).includes(name)));
const withAnnotations = <T extends { annotations?: unknown }>({ annotations: _annotations, ...metadata }: T, annotations: Record<string, string>): object => ({ ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) });

/** `autoscaling/v1` of the autoscalers, which are stored in the form of v2. */
export const autoscalingV1: View = {
  group: 'autoscaling',
  version: 'v1',
  kind: horizontalPodAutoscaler.kind,
  plural: horizontalPodAutoscaler.plural,
  singular: horizontalPodAutoscaler.singular,
  shortNames: horizontalPodAutoscaler.shortNames,
  categories: horizontalPodAutoscaler.categories,
  namespaced: true,
  schema: autoscalerV1Schema,
  emptyIsAbsent: true,
  hasStatus: true,
  columns: horizontalPodAutoscaler.columns.map((column) => ({ ...column, cell: (object, now) => column.cell(origins.get(object) ?? fromV1(object), now) })),
  fieldSelectors: [],
  resource: resourceKey(horizontalPodAutoscaler),
  toView: toV1,
  fromView(body, _old, fieldValidation) {
    const filled = { ...body };
    fillRequired(filled);
    const { object, warnings } = decode(autoscalingV1, filled, fieldValidation);
    return { object: fromV1(object) as unknown as Record<string, unknown>, warnings };
  },
};
