import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { podRules } from '../rules/pod.ts';
import { podColumns } from './pod/columns.ts';
import { completeOwnPodSpec } from './pod/defaults.ts';
import { qosClassOf } from './pod/qos.ts';
import { podSchema, type Pod } from './pod/schema.ts';
import type { PodSpec } from './pod/spec.ts';
import type { PodCondition, PodStatus } from './pod/status.ts';
import { completeTimes } from './workload/defaults.ts';

export const pod: Kind = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  schema: podSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: podColumns,
  fieldSelectors: ['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork', 'status.phase', 'status.podIP', 'status.podIPs', 'status.nominatedNodeName'],
  validate: podRules,
  generationOf: () => undefined,
  graceful: { seconds: graceOf },
  subresources: ['attach', 'binding', 'eviction', 'exec', 'log', 'portforward'],
};

function complete(object: KubeObject): void {
  const { spec, status } = object as Pod;
  completeOwnPodSpec(spec);
  object.status = status ?? newStatus(spec);
  // The first address and the list of them say the same, whichever was given.
  if (status?.podIP !== undefined) status.podIPs ??= [{ ip: status.podIP }];
  completeTimes(status?.conditions, 'lastProbeTime', 'lastTransitionTime');
}

function newStatus(spec: PodSpec): PodStatus {
  const qosClass = qosClassOf(spec);
  return (spec.schedulingGates ?? []).length === 0 ? { phase: 'Pending', qosClass } : { phase: 'Pending', conditions: [gated()], qosClass };
}

const gated = (): PodCondition => ({ type: 'PodScheduled', status: 'False', lastProbeTime: null, lastTransitionTime: null, reason: 'SchedulingGated', message: 'Scheduling is blocked due to non-empty scheduling gates' });

/** A pod on no node and one that has ended have nothing to finish. */
function graceOf(object: KubeObject): number | undefined {
  const { spec, status } = object as Pod;
  if ((spec.nodeName ?? '') === '' || status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined;
  return spec.terminationGracePeriodSeconds;
}
