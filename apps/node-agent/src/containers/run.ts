import type { ContainerStateTerminated, ContainerStatus } from '@roundsman/api';
import type { PodContainer } from '@roundsman/containers';

/** What is kept with a container for whoever looks after it later. */
export const annotationKeys = {
  specHash: 'roundsman.io/spec-hash',
  backOffMs: 'roundsman.io/back-off-ms',
  sandboxRun: 'roundsman.io/sandbox-run',
  imageDigest: 'roundsman.io/image-digest',
  graceSeconds: 'roundsman.io/grace-seconds',
} as const;

/** Docker's and containerd's code of a program that could not be started at all. */
const startFailedCode = 128;

/** One run of a container of a pod, as rules look at it. Times are epoch milliseconds. */
export interface Run {
  readonly id: string;
  readonly name: string;
  /** 0 for the first: the restart count it started with. */
  readonly attempt: number;
  /** `created`: made and not started; whoever made it is gone. */
  readonly state: 'created' | 'running' | 'exited';
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** It could not be started: the daemon's words. */
  readonly startProblem: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly image: string;
  readonly imageId: string;
  readonly specHash: string;
  /** Wait after it before the next run. */
  readonly backOffMs: number;
  /** Which start of the pod's sandbox it belongs to: init containers run anew in each. */
  readonly sandboxRun: string;
  /** How it ended, in other words than its container's: that is gone. */
  readonly told?: ContainerStateTerminated;
}

const epoch = (time: string | undefined): number | undefined => {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  // Docker says 0001-01-01 for "never".
  return Number.isNaN(at) || at <= 0 ? undefined : at;
};

export function runOf(container: PodContainer): Run {
  const { id, name, attempt, annotations, problem } = container;
  const createdAt = epoch(container.createdAt) ?? 0;
  const unstarted = container.state === 'created' && problem !== undefined;
  const exited = unstarted || container.state === 'exited';
  const startProblem = exited && problem !== undefined && problem !== '' && epoch(container.startedAt) === undefined ? problem : undefined;
  const startedAt = epoch(container.startedAt) ?? createdAt;
  return {
    id,
    name,
    attempt,
    state: unstarted ? 'exited' : container.state,
    exitCode: startProblem === undefined ? (container.exitCode ?? 0) : startFailedCode,
    oomKilled: container.oomKilled,
    startProblem,
    createdAt,
    startedAt,
    finishedAt: Math.max(startedAt, epoch(container.finishedAt) ?? startedAt),
    image: container.image,
    imageId: annotations[annotationKeys.imageDigest] ?? container.imageId,
    specHash: annotations[annotationKeys.specHash] ?? '',
    backOffMs: Number(annotations[annotationKeys.backOffMs] ?? 0),
    sandboxRun: annotations[annotationKeys.sandboxRun] ?? '',
  };
}

/** A run whose container disappeared: how it ended is not known, unless it had ended before. */
export function lostRun(run: Run, now: number): Run {
  if (run.state === 'exited') return run;
  const told = { exitCode: 137, reason: 'ContainerStatusUnknown', message: 'The container could not be located when the pod was terminated', containerID: `docker://${run.id}` };
  return { ...run, state: 'exited', exitCode: told.exitCode, finishedAt: Math.max(run.startedAt, now), told };
}

/** A run that only the stored status of the pod tells of; undefined when there was none. */
export function storedRun(status: ContainerStatus, now: number): Run | undefined {
  const { name, state, image, imageID, restartCount, containerID = '' } = status;
  const terminated = state.terminated ?? (state.waiting === undefined ? undefined : status.lastState.terminated);
  if (state.running === undefined && terminated === undefined) return undefined;
  const startedAt = epoch(state.running?.startedAt ?? terminated?.startedAt) ?? now;
  const run: Run = {
    id: containerID.replace('docker://', ''),
    name,
    attempt: restartCount,
    state: terminated === undefined ? 'running' : 'exited',
    exitCode: terminated?.exitCode ?? 0,
    oomKilled: false,
    startProblem: undefined,
    createdAt: startedAt,
    startedAt,
    finishedAt: epoch(terminated?.finishedAt) ?? startedAt,
    image,
    imageId: imageID,
    specHash: '',
    backOffMs: 0,
    sandboxRun: '',
    ...(terminated === undefined ? {} : { told: terminated }),
  };
  return lostRun(run, now);
}
