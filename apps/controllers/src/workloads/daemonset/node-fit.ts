import { tolerates, type DaemonSet, type Node, type NodeSelectorRequirement, type NodeSelectorTerm, type PodSpec, type Taint, type Toleration } from '@roundsman/api';

export interface NodeFit {
  /** The node is to have a pod. */
  readonly runs: boolean;
  /** A pod that is there may stay. */
  readonly stays: boolean;
}

/** Every daemon pod tolerates that its node is not well: it is there for that. */
export function daemonTolerations({ hostNetwork }: PodSpec): Toleration[] {
  const of = (name: string, effect: 'NoExecute' | 'NoSchedule'): Toleration => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect });
  return [
    of('not-ready', 'NoExecute'),
    of('unreachable', 'NoExecute'),
    of('disk-pressure', 'NoSchedule'),
    of('memory-pressure', 'NoSchedule'),
    of('pid-pressure', 'NoSchedule'),
    of('unschedulable', 'NoSchedule'),
    ...(hostNetwork === true ? [of('network-unavailable', 'NoSchedule')] : []),
  ];
}

/** Whether a node is one of those that the pods are for. */
export function nodeFit({ spec: { template } }: DaemonSet, node: Node): NodeFit {
  const { spec } = template;
  const none = { runs: false, stays: false };
  if (spec.nodeName !== undefined && spec.nodeName !== '' && spec.nodeName !== node.metadata.name) return none;
  if (!isChosen(spec, node)) return none;
  const tolerations = [...(spec.tolerations ?? []), ...daemonTolerations(spec)];
  const keepsAway = (effect: Taint['effect']): boolean => (node.spec.taints ?? []).some((taint) => taint.effect === effect && !tolerations.some((toleration) => tolerates(toleration, taint)));
  const expelled = keepsAway('NoExecute');
  return { runs: !expelled && !keepsAway('NoSchedule'), stays: !expelled };
}

/** nodeSelector and required node affinity. */
function isChosen({ nodeSelector, affinity }: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => fitsTerm(term, node));
}

/** An empty term chooses nothing. The only field is the name. */
function fitsTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, { metadata: { name, labels = {} } }: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return matchExpressions.every((one) => fits(one, labels[one.key])) && matchFields.every((one) => one.key === 'metadata.name' && fits(one, name));
}

function fits({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  if (value === undefined) return false;
  if (operator === 'In') return values.includes(value);
  const [number, limit] = [Number(value), Number(values[0])];
  return operator === 'Gt' ? number > limit : operator === 'Lt' && number < limit;
}
