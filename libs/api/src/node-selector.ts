import type { Node } from './kinds/node/schema.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from './kinds/pod/affinity.ts';
import type { PodSpec } from './kinds/pod/spec.ts';

/** A condition on a node, made ready to be asked often. */
export type NodePredicate = (node: Node) => boolean;

/** A node must fit every requirement of a term; a term without any fits no node. */
export function termCondition({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodePredicate {
  if (matchExpressions.length + matchFields.length === 0) return () => false;
  const conditions = [...matchExpressions.map(labelRequirement), ...matchFields.map(fieldRequirement)];
  return (node) => conditions.every((holds) => holds(node));
}

const labelOf = ({ metadata: { labels } }: Node, key: string): string | undefined => (labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined);

function labelRequirement({ key, operator, values = [] }: NodeSelectorRequirement): NodePredicate {
  const wanted = new Set(values);
  const within = (node: Node): boolean => {
    const value = labelOf(node, key);
    return value !== undefined && wanted.has(value);
  };
  switch (operator) {
    case 'Exists':
      return (node) => labelOf(node, key) !== undefined;
    case 'DoesNotExist':
      return (node) => labelOf(node, key) === undefined;
    case 'In':
      return within;
    case 'NotIn':
      return (node) => !within(node);
    case 'Gt':
    case 'Lt':
      return compared(key, operator, integerOf(values[0]));
    default:
      return () => false;
  }
}

/** Whole numbers only; a label that is none is neither more nor less. */
function compared(key: string, operator: 'Gt' | 'Lt', limit: bigint | undefined): NodePredicate {
  return (node) => {
    const value = integerOf(labelOf(node, key));
    if (limit === undefined || value === undefined) return false;
    return operator === 'Gt' ? value > limit : value < limit;
  };
}

const integerOf = (text: string | undefined): bigint | undefined => (text !== undefined && /^[-+]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined);

/** The only field is the name, with In and NotIn. */
function fieldRequirement({ key, operator, values = [] }: NodeSelectorRequirement): NodePredicate {
  if (key !== 'metadata.name' || (operator !== 'In' && operator !== 'NotIn')) return () => false;
  return ({ metadata }) => values.includes(metadata.name) === (operator === 'In');
}

/** nodeSelector and the required node affinity together; undefined when the pod has neither. */
export function requiredNodes({ nodeSelector, affinity }: Pick<PodSpec, 'nodeSelector' | 'affinity'>): NodePredicate | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const wanted = Object.entries(nodeSelector ?? {});
  if (terms === undefined && wanted.length === 0) return undefined;
  const any = terms?.map(termCondition);
  return (node) => wanted.every(([key, value]) => labelOf(node, key) === value) && (any === undefined || any.some((holds) => holds(node)));
}
