import { requiredNodes, tolerates, type DaemonSet, type Node, type PodSpec, type Taint, type Toleration } from '@roundsman/api';

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
  if (requiredNodes(spec)?.(node) === false) return none;
  const tolerations = [...(spec.tolerations ?? []), ...daemonTolerations(spec)];
  const keepsAway = (effect: Taint['effect']): boolean => (node.spec.taints ?? []).some((taint) => taint.effect === effect && !tolerations.some((toleration) => tolerates(toleration, taint)));
  const expelled = keepsAway('NoExecute');
  return { runs: !expelled && !keepsAway('NoSchedule'), stays: !expelled };
}
