import type { LabelSelector } from '@roundsman/api';

export type Labels = Readonly<Record<string, string>>;

/** A condition on labels: `metadata.labels` of a pod, a namespace. */
export type LabelCondition = (labels: Labels) => boolean;

export const labelOf = (labels: Labels, key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);

/** A selector made ready to be asked often. None selects nothing, an empty one everything; an operator that is not known selects nothing. */
export function selectorCondition(selector: LabelSelector | undefined): LabelCondition {
  if (selector === undefined) return () => false;
  const conditions: LabelCondition[] = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => (labels: Labels) => labelOf(labels, key) === value),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => expressionCondition(key, operator, values)),
  ];
  return (labels) => conditions.every((holds) => holds(labels));
}

function expressionCondition(key: string, operator: string, values: readonly string[]): LabelCondition {
  if (operator === 'Exists') return (labels) => labelOf(labels, key) !== undefined;
  if (operator === 'DoesNotExist') return (labels) => labelOf(labels, key) === undefined;
  const wanted = new Set(values);
  const within = (labels: Labels): boolean => {
    const value = labelOf(labels, key);
    return value !== undefined && wanted.has(value);
  };
  if (operator === 'In') return within;
  return operator === 'NotIn' ? (labels) => !within(labels) : () => false;
}

/** The selector that also asks for (or against) the pod's own values of these labels. */
export function withOwnLabels(selector: LabelSelector | undefined, labels: Labels, same: readonly string[] | undefined, different?: readonly string[] | undefined): LabelSelector | undefined {
  if (selector === undefined) return undefined;
  const of = (keys: readonly string[] | undefined, operator: 'In' | 'NotIn') =>
    (keys ?? []).flatMap((key) => {
      const value = labelOf(labels, key);
      return value === undefined ? [] : [{ key, operator, values: [value] }];
    });
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...of(same, 'In'), ...of(different, 'NotIn')] };
}
