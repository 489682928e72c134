import type { KubeObject } from '../../meta.ts';
import type { MetricSpec } from './metric.ts';
import type { HorizontalPodAutoscaler, ScalingRules } from './schema.ts';

type Members = Record<string, unknown>;
const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is scaled by when nothing is said. */
export const defaultMetric = (): MetricSpec => ({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } });

/** Defaults that depend on other members. Changes `object`. */
export function completeAutoscaler(object: KubeObject): void {
  const { spec } = object as HorizontalPodAutoscaler;
  if (spec.metrics === undefined || spec.metrics.length === 0) spec.metrics = [defaultMetric()];
  if (spec.behavior !== undefined) {
    const { scaleUp, scaleDown } = spec.behavior;
    spec.behavior = {
      scaleUp: completeRules({ stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, { type: 'Percent', value: 100, periodSeconds: 15 }] }, scaleUp),
      // Its window is a setting of the controllers when nothing is said.
      scaleDown: completeRules({ policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] }, scaleDown),
    };
  }
  // Kubernetes shows that nothing was read yet.
  object.status = { ...(object.status as object | undefined) };
  const status = object.status as NonNullable<HorizontalPodAutoscaler['status']>;
  status.desiredReplicas ??= 0;
  status.currentMetrics ??= null;
  if (status.currentReplicas === 0) delete status.currentReplicas;
  for (const condition of status.conditions ?? []) condition.lastTransitionTime ??= null;
}

const completeRules = (defaults: ScalingRules, given: ScalingRules = {}): ScalingRules => ({ selectPolicy: 'Max', ...defaults, ...given });

/** Members that are required are empty when they are missing, as in Go: the rules then say in Kubernetes' words what each is to be. */
export function fillRequired(object: Members): void {
  const { spec } = object;
  if (!isMembers(spec)) return;
  const next: Members = { maxReplicas: 0, ...said(spec) };
  next['scaleTargetRef'] = filled(next['scaleTargetRef'], { kind: '', name: '' });
  if (Array.isArray(next['metrics'])) next['metrics'] = next['metrics'].map((metric: unknown) => (isMembers(metric) ? filledMetric(metric) : metric));
  if (isMembers(next['behavior'])) next['behavior'] = Object.fromEntries(Object.entries(next['behavior']).map(([direction, rules]) => [direction, isMembers(rules) ? filledRules(rules) : rules]));
  object['spec'] = next;
}

const filledTarget = (target: unknown): unknown => filled(target, { type: '' });
const filledIdentifier = (metric: unknown): unknown => filled(metric, { name: '' });
const sources: Readonly<Record<string, (source: Members) => Members>> = {
  object: (source) => ({ ...source, describedObject: filled(source['describedObject'], { kind: '', name: '' }), target: filledTarget(source['target']), metric: filledIdentifier(source['metric']) }),
  pods: (source) => ({ ...source, metric: filledIdentifier(source['metric']), target: filledTarget(source['target']) }),
  resource: (source) => ({ name: '', ...said(source), target: filledTarget(source['target']) }),
  containerResource: (source) => ({ name: '', container: '', ...said(source), target: filledTarget(source['target']) }),
  external: (source) => ({ ...source, metric: filledIdentifier(source['metric']), target: filledTarget(source['target']) }),
};

function filledMetric(metric: Members): Members {
  const next: Members = { type: '', ...said(metric) };
  for (const [name, fill] of Object.entries(sources)) if (isMembers(next[name])) next[name] = fill(next[name]);
  return next;
}

function filledRules(rules: Members): Members {
  const { policies } = rules;
  return Array.isArray(policies) ? { ...rules, policies: policies.map((policy: unknown) => (isMembers(policy) ? { type: '', value: 0, periodSeconds: 0, ...said(policy) } : policy)) } : rules;
}

/** Nothing is an object without members; what is no object is left to the schema. */
const filled = (value: unknown, zeros: Members): unknown => (value === undefined || value === null ? { ...zeros } : isMembers(value) ? { ...zeros, ...said(value) } : value);
/** Null means absent. */
const said = (members: Members): Members => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
