import { ageColumn, ageOf, column, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import { isPodEnded, isPodReady, podConditionOf } from '../../pod-state.ts';
import type { Pod } from './schema.ts';
import type { ContainerState, ContainerStatus } from './container-status.ts';

/** What `kubectl get` says of the containers of a pod. */
interface Summary {
  readonly ready: number;
  readonly total: number;
  /** What a person sees first: the phase, or what stands in its way. */
  readonly status: string;
  readonly restarts: number;
  /** When a container last ended before it was started again; RFC 3339. */
  readonly lastRestart: string | undefined;
}

/** By the rules of Kubernetes: what an init container waits for goes before the containers, of these the first one's trouble. */
function summaryOf(pod: Pod): Summary {
  const { spec, status = {} } = pod;
  const gated = podConditionOf(pod, 'PodScheduled')?.reason === 'SchedulingGated';
  const plain = gated ? 'SchedulingGated' : status.reason || (status.phase ?? '');
  const sidecars = new Set((spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always').map(({ name }) => name));
  const inits = status.initContainerStatuses ?? [];
  const starting = inits.findIndex((init) => !isPast(init, sidecars));
  const past = starting < 0 ? inits : inits.slice(0, starting);
  const seen = starting < 0 ? inits : inits.slice(0, starting + 1);
  const total = spec.containers.length + sidecars.size;
  let ready = past.filter((init) => sidecars.has(init.name) && init.state.terminated?.exitCode !== 0 && init.ready).length;

  const waiting = starting < 0 ? undefined : initReason(inits[starting]!, starting, spec.initContainers?.length ?? 0);
  if (waiting !== undefined && podConditionOf(pod, 'Initialized')?.status !== 'True') {
    return { ready, total, status: ended(pod, waiting), ...restartsOf(seen) };
  }
  const containers = status.containerStatuses ?? [];
  let shown = waiting ?? plain;
  let running = false;
  for (const container of containers.toReversed()) {
    const reason = reasonOf(container.state);
    if (reason !== undefined) shown = reason;
    else if (container.ready && container.state.running !== undefined) {
      running = true;
      ready++;
    }
  }
  if (shown === 'Completed' && running) shown = isPodReady(pod) ? 'Running' : 'NotReady';
  return { ready, total, status: ended(pod, shown), ...restartsOf([...seen.filter(({ name }) => sidecars.has(name)), ...containers]) };
}

/** It does not keep the pod from starting any more. */
function isPast({ name, state, started }: ContainerStatus, sidecars: ReadonlySet<string>): boolean {
  return state.terminated?.exitCode === 0 || (sidecars.has(name) && started === true);
}

function initReason({ state }: ContainerStatus, index: number, total: number): string {
  if (state.terminated !== undefined) return `Init:${reasonOf(state)}`;
  const reason = state.waiting?.reason;
  return reason && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${total}`;
}

/** Why a container does not run; undefined when it does, or says nothing. */
function reasonOf({ waiting, terminated }: ContainerState): string | undefined {
  if (waiting?.reason) return waiting.reason;
  if (terminated === undefined) return undefined;
  return terminated.reason || (terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`);
}

function ended(pod: Pod, shown: string): string {
  if (pod.metadata.deletionTimestamp === undefined) return shown;
  if (pod.status?.reason === 'NodeLost') return 'Unknown';
  return isPodEnded(pod) ? shown : 'Terminating';
}

function restartsOf(statuses: readonly ContainerStatus[]): Pick<Summary, 'restarts' | 'lastRestart'> {
  const ends = statuses.map(({ lastState }) => lastState.terminated?.finishedAt).filter((time) => time !== undefined);
  return { restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0), lastRestart: ends.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) };
}

function restartsText(object: KubeObject, now: number): string {
  const { restarts, lastRestart } = summaryOf(object as Pod);
  return restarts === 0 || lastRestart === undefined ? String(restarts) : `${restarts} (${ageOf(lastRestart, now)} ago)`;
}

/** How many of the conditions in spec.readinessGates hold. */
function gatesText(object: KubeObject): string {
  const gates = (object as Pod).spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  return `${gates.filter(({ conditionType }) => podConditionOf(object as Pod, conditionType)?.status === 'True').length}/${gates.length}`;
}

export const podColumns: readonly Column[] = [
  nameColumn,
  column('Ready', 'string', 'How many containers are ready, of how many', (object) => {
    const { ready, total } = summaryOf(object as Pod);
    return `${ready}/${total}`;
  }),
  column('Status', 'string', 'What it does, or what stands in its way', (object) => summaryOf(object as Pod).status),
  column('Restarts', 'string', 'How often containers were started again, and how long ago', restartsText),
  ageColumn,
  column('IP', 'string', 'Its address', (object) => (object as Pod).status?.podIPs?.[0]?.ip || '<none>', { wide: true }),
  column('Node', 'string', 'The node it runs on', (object) => (object as Pod).spec.nodeName || '<none>', { wide: true }),
  column('Nominated Node', 'string', 'Node on which others are being ended for it', (object) => (object as Pod).status?.nominatedNodeName || '<none>', { wide: true }),
  column('Readiness Gates', 'string', 'How many of the conditions that count hold', gatesText, { wide: true }),
];
