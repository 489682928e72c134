import type { Container, Pod } from '@roundsman/api';
import { RuntimeProblem } from '@roundsman/containers';
import type { Run } from '../containers/run.ts';
import type { Materials } from '../environment/materials.ts';
import type { Waiting } from '../status/container-statuses.ts';
import type { PodFiles } from '../volumes/pod-files.ts';
import { retryDelay } from './back-off.ts';
import { startRun } from './container-starter.ts';
import { ContainerStop } from './container-stop.ts';
import { describePod } from './describe.ts';
import type { NodeServices } from './node-services.ts';
import type { Plan, Step } from './plan.ts';
import type { PodRuns } from './pod-runs.ts';
import type { PodSandbox } from './pod-sandbox.ts';
import { isUnavailable, startFailure } from './problems.ts';

/** After a container could not be ended. */
const stopAgainMs = 1_000;

/** The pod that containers are worked on for, as it is now. */
export interface WorkedPod {
  readonly pod: Pod;
  readonly podIPs: readonly string[];
  readonly materials: () => Promise<Materials>;
  /** Makes the volumes, where that was not done since the agent started. */
  readonly setUpFiles: () => Promise<void>;
}

/** What is under way with the containers of one pod, at most one thing for each, and why those that do not run do not. */
export class ContainerWork {
  readonly #services: NodeServices;
  readonly #runs: PodRuns;
  readonly #sandbox: PodSandbox;
  readonly #files: PodFiles;
  readonly #starting = new Map<string, AbortController>();
  readonly #stopping = new Map<string, ContainerStop>();
  readonly #discarding = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #retryAt = new Map<string, number>();
  /** The run whose back-off was told last, by container. */
  readonly #toldBackOff = new Map<string, string>();
  /** The run whose end was told last, by container. */
  readonly #toldKilling = new Map<string, string>();
  /** Containers that ended before the call that made them came back. */
  readonly #endedEarly = new Set<string>();

  constructor(services: NodeServices, runs: PodRuns, sandbox: PodSandbox, files: PodFiles) {
    this.#services = services;
    this.#runs = runs;
    this.#sandbox = sandbox;
    this.#files = files;
  }

  get busy(): ReadonlySet<string> {
    return new Set([...this.#starting.keys(), ...this.#stopping.keys(), ...this.#discarding]);
  }
  get starting(): ReadonlySet<string> {
    return new Set(this.#starting.keys());
  }
  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#waiting;
  }
  /** Epoch milliseconds, by container. */
  get retryAt(): ReadonlyMap<string, number> {
    return this.#retryAt;
  }

  /** What waited for something outside is tried now: all, or one container. */
  retryNow(name?: string): void {
    if (name === undefined) this.#retryAt.clear();
    else this.#retryAt.delete(name);
  }

  /** What is being started is given up; what is being ended gets no more time than this. */
  hurry(graceMs: number): void {
    for (const starting of this.#starting.values()) starting.abort();
    for (const stopping of this.#stopping.values()) stopping.shorten(graceMs);
  }

  /** A container of that name ended that is not known yet. */
  endedUnknown(name: string, id: string): void {
    if (this.#starting.has(name)) this.#endedEarly.add(id);
  }

  noteBackOff(pod: Pod, { backingOff }: Plan): void {
    for (const [name, { delayMs }] of backingOff) {
      this.#waiting.set(name, { reason: 'CrashLoopBackOff', message: `back-off ${duration(delayMs)} restarting failed container=${name} pod=${describePod(pod)}` });
      const id = this.#runs.newest().get(name)?.id ?? '';
      if (this.#toldBackOff.get(name) === id) continue;
      this.#toldBackOff.set(name, id);
      this.#services.events.record(pod, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${describePod(pod)}`, name);
    }
  }

  async start({ container, attempt, backOffMs }: Extract<Step, { do: 'start' }>, worked: WorkedPod): Promise<void> {
    const sandbox = this.#sandbox.current;
    if (sandbox === undefined) return;
    const { name } = container;
    const aborting = new AbortController();
    this.#starting.set(name, aborting);
    let id: string | undefined;
    let failed = false;
    try {
      await worked.setUpFiles();
      await startRun(this.#services, {
        pod: worked.pod,
        container,
        attempt,
        backOffMs,
        sandboxId: sandbox.id,
        sandboxRun: this.#sandbox.run,
        podIPs: worked.podIPs,
        files: this.#files,
        materials: worked.materials,
        signal: aborting.signal,
        onContainer: async (made) => {
          id = made.id;
          await this.#runs.put(made);
          this.#waiting.delete(name);
        },
      });
    } catch (error) {
      failed = true;
      await this.#startFailed(worked.pod, container, attempt, error);
    }
    try {
      // What has ended is not told as started: before its id was known, and then nobody tells again, or because of its hook.
      if (id !== undefined && (this.#endedEarly.delete(id) || failed)) await this.#runs.learn(id);
    } finally {
      this.#starting.delete(name);
      // Old runs that were removed meanwhile are of no interest.
      if (this.#starting.size === 0) this.#endedEarly.clear();
    }
  }

  async stop({ run, cause, restart }: Extract<Step, { do: 'stop' }>, container: Container | undefined, graceMs: number | undefined, { pod, podIPs }: WorkedPod): Promise<void> {
    const probe = cause === 'liveness' ? container?.livenessProbe : cause === 'startup' ? container?.startupProbe : undefined;
    const own = (probe?.terminationGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds) * 1000;
    const stop = new ContainerStop(this.#services, { pod, container, name: run.name, id: run.id, podIP: podIPs[0] ?? '', cause, restart, graceMs: graceMs ?? own, again: this.#toldKilling.get(run.name) === run.id });
    this.#toldKilling.set(run.name, run.id);
    this.#stopping.set(run.name, stop);
    try {
      await stop.run();
      await this.#runs.learn(run.id);
    } catch (error) {
      // A daemon that is away is told of the node, not of each of its pods.
      if (!isUnavailable(error)) this.#services.events.record(pod, 'Warning', 'FailedKillPod', `error killing pod: ${(error as Error).message}`);
      await new Promise((resolve) => setTimeout(resolve, stopAgainMs));
    } finally {
      this.#stopping.delete(run.name);
    }
  }

  /** Removes a container that was made and never started. */
  async discard({ name, id }: Run): Promise<void> {
    this.#discarding.add(name);
    try {
      await this.#services.runtime.removeContainer(id);
      this.#runs.drop(id);
    } finally {
      this.#discarding.delete(name);
    }
  }

  async #startFailed(pod: Pod, container: Container, attempt: number, error: unknown): Promise<void> {
    const { name } = container;
    const { reason, message, event, retryAfterMs } = startFailure(error);
    this.#waiting.set(name, { reason, message });
    if (event !== undefined) this.#services.events.record(pod, 'Warning', 'Failed', event, name);
    if (retryAfterMs > 0) this.#retryAt.set(name, Date.now() + retryAfterMs);
    if (!(error instanceof RuntimeProblem) || error.code !== 'Start') return;
    // What was made is left: it is the run that failed, and its back-off counts.
    const left = await this.#runs.learnFailed(pod.metadata.uid, name, attempt, message).catch(() => false);
    if (!left) this.#retryAt.set(name, Date.now() + retryDelay(1));
  }
}

/** `10s`, `1m20s`, `5m0s`: as Go writes durations. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
