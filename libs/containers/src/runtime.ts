/** What to run. `id` is unique within a runtime and stays the same over restarts. */
export interface ContainerSpec {
  /** [a-z0-9.-], at most 63 characters: also a folder's name. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Program and arguments; no shell. */
  readonly command: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  readonly restart: RestartPolicy;
  /** Bytes kept of its output, half of it at least; older output goes. Default 4 MiB. */
  readonly logBytes?: number;
}

/** `always` also after exit code 0. The wait doubles from `firstMs` to `longestMs` and starts anew after `resetMs` of running. */
export interface RestartPolicy {
  readonly when: 'always' | 'on-failure' | 'never';
  readonly firstMs?: number;
  readonly longestMs?: number;
  readonly resetMs?: number;
}

export const restartDefaults = { firstMs: 500, longestMs: 30_000, resetMs: 30_000 } as const;

/** `waiting`: ended, and started again at `restartAt`. `exited`: ended for good, or stopped. */
export type ContainerState = 'running' | 'waiting' | 'exited';

export interface ContainerStatus {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: ContainerState;
  readonly pid?: number;
  /** RFC 3339; of the present or last run. */
  readonly startedAt?: string;
  /** Starts beyond the first, since `start` was called. */
  readonly restarts: number;
  readonly restartAt?: string;
  /** How the last run ended. Unknown when it was not our child (adopted from an earlier process). */
  readonly exitCode?: number;
  readonly signal?: string;
  /** Why it could not be started, in words. */
  readonly problem?: string;
  /** It was running already when this process found it. */
  readonly adopted: boolean;
}

/** A change of state, as it happens. */
export type ContainerListener = (status: ContainerStatus) => void;

/**
 * Runs workloads of one node. At most one run per id at any time, also when the process that uses this port was killed
 * and came back.
 */
export interface ContainerRuntime {
  /** `process://26.10.0`, `docker://29.0.1`: as in nodeInfo.containerRuntimeVersion. */
  readonly version: string;
  /**
   * Makes it run. One that runs already with the same spec is left alone (adopted); with another spec it is stopped first. Resolves
   * when it was started or is waiting to be started again; rejects for a spec that cannot be run.
   */
  start(spec: ContainerSpec): Promise<ContainerStatus>;
  /** Ends it and does not start it again: TERM to the whole group, KILL after `graceMs`. Resolves when it is gone; also when it never was. */
  stop(id: string, graceMs: number): Promise<void>;
  inspect(id: string): Promise<ContainerStatus | undefined>;
  /** Those that have all of the labels. */
  list(labels?: Readonly<Record<string, string>>): Promise<ContainerStatus[]>;
  /** The last lines of its output, oldest first. */
  logs(id: string, options?: { tailLines?: number }): Promise<string>;
  /** Ends it, if need be, and forgets it with its output. */
  remove(id: string): Promise<void>;
  watch(listener: ContainerListener): () => void;
  /** Stops looking after what runs, and leaves it running: a later process can adopt it. */
  release(): Promise<void>;
}

const idForm = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

/** Throws what is wrong with a spec. */
export function checkSpec({ id, command }: ContainerSpec): void {
  if (!idForm.test(id)) throw new Error(`container id "${id}": must be lower-case letters, digits, "-" and ".", at most 63`);
  if ((command[0] ?? '') === '') throw new Error(`container ${id}: has no command`);
}

export const matches = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>> = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** How long to wait before restart number `restarts` (from 0), milliseconds. */
export function backoffMs(policy: RestartPolicy, restarts: number): number {
  const { firstMs = restartDefaults.firstMs, longestMs = restartDefaults.longestMs } = policy;
  return Math.min(longestMs, firstMs * 2 ** Math.min(restarts, 30));
}
