import type { Container, ContainerState, ContainerStateTerminated, ContainerStatus, PodSpec } from '@roundsman/api';
import type { Run } from '../containers/run.ts';
import { isSidecar, restartPolicyOf, restarts, retriesInit } from '../pods/restart-policy.ts';
import { timeText } from './time.ts';

/** Why a container does not run now: in the words of the kubelet. */
export interface Waiting {
  readonly reason: string;
  readonly message: string;
}

/** What the statuses of a pod's containers follow from. */
export interface ContainersView {
  readonly spec: PodSpec;
  /** Runs that are still there, newest first, by container. */
  readonly runs: ReadonlyMap<string, readonly Run[]>;
  /** A run is being started: made, and its postStart hook. */
  readonly starting: ReadonlySet<string>;
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Their startup probe, if any, is through. */
  readonly started: ReadonlySet<string>;
  /** Their readiness probe, if any, says so. */
  readonly ready: ReadonlySet<string>;
  /** Last words by container id. */
  readonly lastWords: ReadonlyMap<string, string>;
  /** As stored: for what is gone from the machine. */
  readonly stored: ReadonlyMap<string, ContainerStatus>;
  /** Nothing of the pod will run again. */
  readonly ending: boolean;
}

export function containerStatuses(view: ContainersView, containers: readonly Container[], kind: 'app' | 'init'): ContainerStatus[] {
  return containers.map((container) => containerStatus(view, container, kind === 'init' && !isSidecar(container)));
}

function containerStatus(view: ContainersView, container: Container, init: boolean): ContainerStatus {
  const { name } = container;
  const runs = view.runs.get(name) ?? [];
  // One that is being started is told of when that is through.
  const told = view.starting.has(name) && runs[0]?.state !== 'exited' ? runs.slice(1) : runs.filter(({ state }) => state !== 'created');
  const [run, previous] = told;
  const stored = view.stored.get(name);
  const waiting = waitingOf(view, container, run, init);
  const state = stateOf(view, run, waiting);
  const running = state.running !== undefined;
  const lastState = lastStateOf(view, run, previous, waiting !== undefined && run !== undefined, stored);
  const started = running && view.started.has(name);
  return {
    name,
    state,
    lastState,
    ready: init ? run?.state === 'exited' && run.exitCode === 0 : started && view.ready.has(name),
    restartCount: run?.attempt ?? stored?.restartCount ?? 0,
    image: run?.image ?? container.image ?? '',
    imageID: run?.imageId ?? '',
    ...(run === undefined ? {} : { containerID: `docker://${run.id}` }),
    started,
    ...(container.volumeMounts === undefined || container.volumeMounts.length === 0 ? {} : { volumeMounts: container.volumeMounts.map(mountStatus) }),
  } as ContainerStatus;
}

/** Waiting counts where another run is to come; else the container has ended. */
function waitingOf(view: ContainersView, container: Container, run: Run | undefined, init: boolean): Waiting | undefined {
  const told = view.waiting.get(container.name);
  if (run === undefined) return told ?? { reason: (view.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating', message: '' };
  if (run.state === 'running' || view.ending || told === undefined) return undefined;
  const policy = restartPolicyOf(view.spec);
  const again = init ? run.exitCode !== 0 && retriesInit(policy) : restarts(container, policy, run.exitCode);
  return again ? told : undefined;
}

function stateOf(view: ContainersView, run: Run | undefined, waiting: Waiting | undefined): ContainerState {
  if (waiting !== undefined) return { waiting: waiting.message === '' ? { reason: waiting.reason } : { ...waiting } };
  if (run === undefined) return {};
  if (run.state === 'running') return { running: { startedAt: timeText(run.startedAt) } };
  return { terminated: terminatedState(run, view.lastWords.get(run.id)) };
}

function lastStateOf(view: ContainersView, run: Run | undefined, previous: Run | undefined, runIsLast: boolean, stored: ContainerStatus | undefined): ContainerState {
  const last = runIsLast ? run : previous;
  if (last?.state === 'exited') return { terminated: terminatedState(last, view.lastWords.get(last.id)) };
  if (stored === undefined || run === undefined || stored.containerID === `docker://${run.id}`) return stored?.lastState ?? {};
  return stored.state?.terminated === undefined ? {} : { terminated: stored.state.terminated };
}

function terminatedState(run: Run, lastWords: string | undefined): ContainerStateTerminated {
  if (run.told !== undefined) return run.told;
  const reason = run.startProblem !== undefined ? 'StartError' : run.oomKilled ? 'OOMKilled' : run.exitCode === 0 ? 'Completed' : 'Error';
  const message = run.startProblem ?? lastWords ?? '';
  return {
    exitCode: run.exitCode,
    reason,
    ...(message === '' ? {} : { message }),
    startedAt: timeText(run.startedAt),
    finishedAt: timeText(run.finishedAt),
    containerID: `docker://${run.id}`,
  };
}

const mountStatus = ({ name, mountPath, readOnly = false }: { name: string; mountPath: string; readOnly?: boolean }) => ({
  name,
  mountPath,
  ...(readOnly ? { readOnly: true, recursiveReadOnly: 'Disabled' } : {}),
});
