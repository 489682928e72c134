import type { Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from '@roundsman/api';
import { labelOf, selectorCondition, type Labels } from './label-selector.ts';

export type NodeCondition = (node: Node) => boolean;

/** A node must fit every requirement of a term; a term without any fits no node. */
export function termCondition({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeCondition {
  if (matchExpressions.length + matchFields.length === 0) return () => false;
  const conditions = [
    ...matchExpressions.map((requirement) => labelRequirement(requirement)).map((holds) => (node: Node) => holds(node.metadata.labels ?? {})),
    ...matchFields.map(fieldRequirement),
  ];
  return (node) => conditions.every((holds) => holds(node));
}

function labelRequirement({ key, operator, values = [] }: NodeSelectorRequirement): (labels: Labels) => boolean {
  if (operator !== 'Gt' && operator !== 'Lt') return selectorCondition({ matchExpressions: [{ key, operator, values }] });
  const limit = integerOf(values[0]);
  return (labels) => {
    const value = integerOf(labelOf(labels, key));
    if (limit === undefined || value === undefined) return false;
    return operator === 'Gt' ? value > limit : value < limit;
  };
}

/** The only field is the name, with In and NotIn. */
function fieldRequirement({ key, operator, values = [] }: NodeSelectorRequirement): NodeCondition {
  if (key !== 'metadata.name' || (operator !== 'In' && operator !== 'NotIn')) return () => false;
  return ({ metadata }) => values.includes(metadata.name) === (operator === 'In');
}

const integerOf = (text: string | undefined): bigint | undefined => (text !== undefined && /^[-+]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined);

/** nodeSelector and the required node affinity together; undefined when the pod has neither. */
export function requiredNodes({ nodeSelector, affinity }: PodSpec): NodeCondition | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const wanted = Object.entries(nodeSelector ?? {});
  if (terms === undefined && wanted.length === 0) return undefined;
  const any = terms?.map(termCondition);
  return (node) => {
    const labels = node.metadata.labels ?? {};
    return wanted.every(([key, value]) => labelOf(labels, key) === value) && (any === undefined || any.some((holds) => holds(node)));
  };
}

/** Names of the only nodes that the required terms leave over, when every term names some (as pods of a DaemonSet do); undefined: any. */
export function namedNodes({ affinity }: PodSpec): Set<string> | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names = terms.map(namedByTerm);
  if (names.length === 0) return undefined;
  const all = new Set<string>();
  for (const some of names) {
    if (some === undefined) return undefined;
    for (const name of some) all.add(name);
  }
  return all;
}

function namedByTerm({ matchFields = [] }: NodeSelectorTerm): string[] | undefined {
  const lists = matchFields.flatMap(({ key, operator, values = [] }) => (key === 'metadata.name' && operator === 'In' ? [values] : []));
  return lists.length === 0 ? undefined : lists.reduce((left, right) => left.filter((name) => right.includes(name)));
}
