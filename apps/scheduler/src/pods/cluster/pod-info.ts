import { isPodActive, isPodTerminating, type Pod } from '@roundsman/api';
import { hostPortsOf, type HostPort } from '../rules/host-ports.ts';
import type { Labels } from '../rules/label-selector.ts';
import { affinityRulesOf, noAffinityRules, type PodAffinityRules } from '../rules/pod-affinity.ts';
import { comparedRequestsOf, requestsOf, type Resources } from './resources.ts';

/** All pods that rules about other pods cannot tell apart: replicas of one workload are one class, so a rule is tried once on all of them. */
export interface PodClass {
  /** Equal for equal classes. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** It is being deleted. */
  readonly terminating: boolean;
  readonly rules: PodAffinityRules;
  readonly hasRules: boolean;
}

/** A pod with what placing it asks for, worked out once. */
export interface PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly priority: number;
  readonly class: PodClass;
  readonly requests: Resources;
  /** For comparing nodes only: also what asks for nothing counts for something. */
  readonly comparedRequests: Resources;
  readonly hostPorts: readonly HostPort[];
}

export function podInfo(pod: Pod): PodInfo {
  const { uid, namespace = '', name, labels = {} } = pod.metadata;
  return {
    pod,
    uid,
    namespace,
    name,
    labels,
    priority: pod.spec.priority ?? 0,
    class: podClass(pod, namespace, labels, isPodTerminating(pod)),
    requests: requestsOf(pod.spec),
    comparedRequests: comparedRequestsOf(pod.spec),
    hostPorts: hostPortsOf(pod.spec),
  };
}

/** Whether the pod waits for a node from this scheduler. Those of others, those with gates and those that go are left alone. */
export const waitsForNode = (pod: Pod): boolean => {
  const { nodeName = '', schedulerName, schedulingGates = [] } = pod.spec;
  return nodeName === '' && isPodActive(pod) && schedulerName === 'default-scheduler' && schedulingGates.length === 0;
};

function podClass(pod: Pod, namespace: string, labels: Labels, terminating: boolean): PodClass {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const rules = affinityRulesOf(pod.spec, namespace, labels);
  return { key: JSON.stringify([namespace, sorted, terminating, podAffinity, podAntiAffinity]), namespace, labels, terminating, rules, hasRules: rules !== noAffinityRules };
}
