import type { ScalingBehavior, ScalingPolicy, ScalingRules } from '../../kinds/horizontalpodautoscaler/schema.ts';

/** Kubernetes writes the behaviour into its annotation with the member names of Go. */
export function goBehavior({ scaleUp, scaleDown }: ScalingBehavior): object {
  const rules = (given: ScalingRules | undefined): object | null =>
    given === undefined
      ? null
      : {
          StabilizationWindowSeconds: given.stabilizationWindowSeconds ?? null,
          SelectPolicy: given.selectPolicy ?? null,
          Policies: given.policies?.map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) ?? null,
        };
  return { ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) };
}

/** Undefined when it says nothing. Go reads member names in any case. */
export function behaviorOfGo(written: unknown): ScalingBehavior | undefined {
  const { scaleup, scaledown } = lowered(written);
  const rules = (given: unknown): ScalingRules => {
    const { stabilizationwindowseconds, selectpolicy, policies } = lowered(given);
    return said({ stabilizationWindowSeconds: stabilizationwindowseconds, selectPolicy: selectpolicy, policies: Array.isArray(policies) ? policies.map(policyOf) : undefined });
  };
  const behavior = said({ scaleUp: scaleup === undefined ? undefined : rules(scaleup), scaleDown: scaledown === undefined ? undefined : rules(scaledown) });
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

function policyOf(written: unknown): ScalingPolicy {
  const { type, value, periodseconds } = lowered(written);
  return said({ type, value, periodSeconds: periodseconds }) as unknown as ScalingPolicy;
}

/** Members under names in lower case; null means absent. */
const lowered = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).flatMap(([key, member]) => (member === null ? [] : [[key.toLowerCase(), member]]))) : {};
const said = (members: Readonly<Record<string, unknown>>): Record<string, never> => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Record<string, never>;
