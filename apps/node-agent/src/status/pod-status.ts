import type { Pod, PodStatus } from '@roundsman/api';
import { conditionsOf } from './conditions.ts';
import { containerStatuses, type ContainersView } from './container-statuses.ts';
import { isTerminal, phaseOf, type Phase } from './phase.ts';
import { qosClass } from './qos.ts';
import { timeText } from './time.ts';

/** Why a pod as a whole ended, when not by its containers alone. */
export interface Verdict {
  readonly reason: string;
  readonly message: string;
}

export interface PodStatusView {
  readonly pod: Pod;
  readonly containers: ContainersView;
  readonly sandbox: { readonly running: boolean; readonly addresses: readonly string[] } | undefined;
  /** Nothing runs and nothing will. */
  readonly over: boolean;
  readonly verdict: Verdict | undefined;
  readonly hostIPs: readonly string[];
  /** Newer than what is stored of the pod: the status that is being written. */
  readonly pending?: PodStatus;
  /** When the agent first saw the pod, epoch milliseconds; a stored start time goes before. */
  readonly seenAt: number;
  readonly now: number;
}

/** The status of a pod as the kubelet would tell it. */
export function podStatus(view: PodStatusView): PodStatus {
  const { pod, containers, sandbox, verdict, hostIPs } = view;
  const stored = pod.status ?? {};
  const { spec } = pod;
  if (wasNeverTaken(view)) return rejected(view);
  const inits = containerStatuses(containers, spec.initContainers ?? [], 'init');
  const apps = containerStatuses(containers, spec.containers, 'app');
  const phase = decided(stored.phase, verdict, phaseOf(spec, [...inits, ...apps], view.over), view.over);
  const addresses = spec.hostNetwork === true ? (sandbox === undefined ? [] : hostIPs) : (sandbox?.addresses ?? []);
  const podIPs = addresses.length > 0 ? addresses : (stored.podIPs ?? []).map(({ ip }) => ip);
  return {
    phase,
    ...(verdict === undefined ? reasonOf(stored) : { reason: verdict.reason, message: verdict.message }),
    conditions: conditionsOf({
      spec,
      phase,
      sandboxRunning: sandbox?.running === true,
      statuses: [...inits, ...apps],
      before: (view.pending ?? stored).conditions ?? [],
      stored: stored.conditions ?? [],
      now: timeText(view.now),
    }),
    hostIP: hostIPs[0],
    hostIPs: hostIPs.map((ip) => ({ ip })),
    ...(podIPs.length === 0 ? {} : { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
    startTime: stored.startTime ?? timeText(view.seenAt),
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits }),
    containerStatuses: apps,
    qosClass: stored.qosClass ?? qosClass(spec),
  } as PodStatus;
}

/** It has failed before anything of it was there: the node does not take it, or somebody else gave it up. */
function wasNeverTaken({ pod: { status }, containers, over, verdict }: PodStatusView): boolean {
  const hasFailed = over && (verdict !== undefined || status?.phase === 'Failed');
  return hasFailed && containers.runs.size === 0 && (status?.containerStatuses ?? []).length === 0;
}

/** Nothing is told of containers that nobody will make: by them, `kubectl get` would show a pod that is still being made. Conditions are as they were. */
function rejected({ pod: { spec, status }, verdict, seenAt }: PodStatusView): PodStatus {
  return {
    phase: 'Failed',
    ...(verdict === undefined ? reasonOf(status ?? {}) : { reason: verdict.reason, message: verdict.message }),
    ...(status?.conditions === undefined ? {} : { conditions: status.conditions }),
    startTime: status?.startTime ?? timeText(seenAt),
    qosClass: status?.qosClass ?? qosClass(spec),
  } as PodStatus;
}

/** A pod that has ended stays so; it has ended when nothing of it runs, and then one that was made to end has failed. */
function decided(stored: Phase | 'Unknown' | undefined, verdict: Verdict | undefined, phase: Phase, over: boolean): Phase {
  if (stored === 'Succeeded' || stored === 'Failed') return stored;
  if (!over && isTerminal(phase)) return stored === 'Running' ? stored : 'Pending';
  return verdict !== undefined && over ? 'Failed' : phase;
}

const reasonOf = ({ reason, message }: { reason?: string; message?: string }): { reason?: string; message?: string } => ({
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});
