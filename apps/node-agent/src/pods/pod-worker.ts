import { randomUUID } from 'node:crypto';
import type { Container, Pod } from '@roundsman/api';
import { RuntimeProblem, type PodOnRuntime, type RuntimeEvent, type Sandbox } from '@roundsman/containers';
import type { Run } from '../containers/run.ts';
import { storedRun } from '../containers/run.ts';
import { sandboxSpec } from '../containers/sandbox-spec.ts';
import { MaterialsCache } from '../environment/materials-cache.ts';
import { PodProbes } from '../probes/pod-probes.ts';
import type { Waiting } from '../status/container-statuses.ts';
import { lastWordsOf } from '../status/last-words.ts';
import { isTerminal } from '../status/phase.ts';
import { podStatus, type Verdict } from '../status/pod-status.ts';
import { StatusWriter } from '../status/status-writer.ts';
import { PodFiles } from '../volumes/pod-files.ts';
import { VolumeProblem } from '../volumes/volume-problem.ts';
import type { Refusal } from './admission.ts';
import { retryDelay } from './back-off.ts';
import { ContainerStop } from './container-stop.ts';
import { startRun } from './container-starter.ts';
import type { NodeServices } from './node-services.ts';
import { planPod, type Plan, type Step } from './plan.ts';
import { startFailure } from './problems.ts';
import { RunBook } from './run-book.ts';

/** Key of the sandbox among containers; no container is called like this. */
const sandboxKey = '';
/** A pod that nobody wants any more has at least this long between TERM and KILL. */
const leastGraceMs = 1_000;
const mountRetryMs = { first: 500, longest: 122_000 };
const removeRetryMs = 1_000;

/** In words of events and back-offs: `name_namespace(uid)`. */
export const describePod = ({ metadata }: Pod): string => `${metadata.name}_${metadata.namespace}(${metadata.uid})`;

/**
 * Runs one pod: one loop that looks at all that is known, starts what is to be done (planPod) and tells the status. What takes long runs beside it,
 * at most one thing per container, and wakes it when done; so nothing waits behind a pull or a hook.
 */
export class PodWorker {
  readonly uid: string;
  readonly #services: NodeServices;
  readonly #onDone: (uid: string) => void;
  readonly #book = new RunBook();
  readonly #files: PodFiles;
  readonly #materials: MaterialsCache;
  readonly #probes: PodProbes;
  readonly #writer: StatusWriter;
  readonly #seenAt = Date.now();

  #pod: Pod;
  #gone = false;
  #verdict: Verdict | undefined;
  /** Its containers have ended by themselves, for good. */
  #finished = false;
  #sandbox: Sandbox | undefined;
  #sandboxRun = '';

  readonly #starting = new Map<string, AbortController>();
  readonly #stopping = new Map<string, ContainerStop>();
  #sandboxBusy = false;
  #closing = false;
  readonly #waiting = new Map<string, Waiting>();
  readonly #retryAt = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #lastWords = new Map<string, string>();
  /** Runs whose back-off was told. */
  readonly #toldBackOff = new Set<string>();
  /** Containers that ended before the call that made them came back. */
  readonly #endedEarly = new Set<string>();
  readonly #work = new Set<Promise<void>>();

  #timer: NodeJS.Timeout | undefined;
  #woken = false;
  #stopped = false;

  constructor(services: NodeServices, pod: Pod, onDone: (uid: string) => void) {
    this.uid = pod.metadata.uid;
    this.#services = services;
    this.#pod = pod;
    this.#onDone = onDone;
    this.#files = new PodFiles(services.podsFolder, pod.metadata.uid);
    this.#materials = new MaterialsCache(() => services.intake.materials(this.#pod));
    const stored = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    this.#probes = new PodProbes(services.runtime, services.events, stored, () => this.wake());
    this.#writer = new StatusWriter({
      send: (status) => services.intake.status(this.#pod, status),
      onStored: (next) => this.update(next),
      onGone: () => this.removed(this.#pod),
      onError: (error) => services.log.warn({ err: error, pod: describePod(this.#pod) }, 'status not written; trying again'),
    });
  }

  get pod(): Pod {
    return this.#pod;
  }
  get sandbox(): Sandbox | undefined {
    return this.#sandbox;
  }
  /** Newest first, by container. */
  get runs(): ReadonlyMap<string, readonly Run[]> {
    return this.#book.all;
  }
  get podIPs(): readonly string[] {
    return this.#pod.spec.hostNetwork === true ? this.#services.hostIPs : (this.#sandbox?.addresses ?? []);
  }
  /** Changes with all that is seen of its containers: an older look at them is of no use. */
  get seen(): number {
    return this.#book.version;
  }

  /** What there is of it on the machine when the agent starts; what only the stored status knows of is remembered as lost. */
  async adopt(found: PodOnRuntime | undefined): Promise<void> {
    this.#sandbox = found?.sandbox;
    for (const container of found?.containers ?? []) this.#book.put(container);
    const { status = {} } = this.#pod;
    for (const told of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
      const run = this.#book.all.has(told.name) ? undefined : storedRun(told, Date.now());
      if (run !== undefined) this.#book.add(run);
    }
    const newest = [...this.#book.all.values()].flat().reduce<Run | undefined>((last, run) => (last === undefined || run.createdAt > last.createdAt ? run : last), undefined);
    this.#sandboxRun = newest?.sandboxRun || randomUUID();
    await Promise.all([...this.#book.all.values()].flat().map((run) => this.#readLastWords(run)));
  }

  /** The node does not take it. */
  refuse({ reason, message }: Refusal): void {
    this.#services.events.record(this.#pod, 'Warning', reason, message);
    this.#verdict = { reason, message: `Pod was rejected: ${message}` };
    this.wake();
  }

  update(pod: Pod): void {
    if (Number(pod.metadata.resourceVersion) < Number(this.#pod.metadata.resourceVersion)) return;
    this.#pod = pod;
    this.wake();
  }

  /** The object is gone: whatever is left of the pod ends. */
  removed(pod: Pod): void {
    this.#pod = pod;
    this.#gone = true;
    this.#writer.stop();
    this.wake();
  }

  /** A look at the machine that began when `seen` was as given. */
  observe(found: PodOnRuntime | undefined, seen: number): void {
    if (seen !== this.seen || this.#busy() || this.#closing) return;
    const changed = this.#book.replace(found?.containers ?? [], Date.now());
    const sandbox = found?.sandbox;
    const moved = sandbox?.id !== this.#sandbox?.id || sandbox?.running !== this.#sandbox?.running;
    this.#sandbox = sandbox ?? (this.#sandbox === undefined ? undefined : { ...this.#sandbox, running: false });
    if (changed || moved) this.#later(async () => void (await Promise.all([...this.#book.newest().values()].map((run) => this.#readLastWords(run)))));
  }

  event({ container, id, type }: RuntimeEvent): void {
    if (container === undefined) {
      if (this.#sandbox?.id !== id || type === 'started' || type === 'oom') return;
      this.#sandbox = { ...this.#sandbox, running: false };
      this.wake();
    } else if (type === 'ended' || type === 'removed') {
      if (this.#book.find(id) !== undefined) this.#later(() => this.#learn(id));
      else if (this.#starting.has(container)) this.#endedEarly.add(id);
    }
  }

  /** The daemon is back, or something else changed that everything depends on: what waited for it is tried now. */
  retry(): void {
    this.#retryAt.clear();
    this.wake();
  }

  /** Brings volumes up to date with the ConfigMaps and Secrets they show. */
  refreshVolumes(): void {
    if (this.#files.isSetUp && this.#ending() === undefined) this.#later(() => this.#setUpFiles(0));
  }

  wake(): void {
    if (this.#woken || this.#stopped) return;
    this.#woken = true;
    queueMicrotask(() => {
      this.#woken = false;
      if (!this.#stopped) this.#sync();
    });
  }

  /** The agent goes; the pod stays as it is. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#probes.stop();
    this.#writer.stop();
    await Promise.race([Promise.all(this.#work), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
  }

  #sync(): void {
    if (this.#closing) return;
    const now = Date.now();
    const deadline = this.#judgeDeadline(now);
    const ending = this.#ending();
    if (ending !== undefined) this.#hurry(ending.graceMs);
    this.#syncProbes(ending !== undefined);
    const plan = this.#plan(ending !== undefined, now);
    if (plan.over && ending === undefined) {
      this.#finished = true;
      this.wake();
    }
    this.#noteBackOff(plan);
    for (const step of plan.steps) this.#do(step, ending?.graceMs);
    this.#removeOld();
    if (!this.#gone) this.#writer.set(this.#status(plan, now), this.#pod.status);
    if (plan.over) this.#rest();
    const wakeAt = Math.min(plan.wakeAt ?? Infinity, deadline ?? Infinity);
    clearTimeout(this.#timer);
    if (wakeAt !== Infinity) this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(0, wakeAt - now), 2 ** 31 - 1));
  }

  /** When its time is over, epoch milliseconds; undefined without a limit, and after it. */
  #judgeDeadline(now: number): number | undefined {
    const { spec, status } = this.#pod;
    if (spec.activeDeadlineSeconds === undefined || this.#verdict !== undefined || this.#finished || isTerminal(status?.phase)) return undefined;
    const at = (status?.startTime === undefined ? this.#seenAt : Date.parse(status.startTime)) + spec.activeDeadlineSeconds * 1000;
    if (at > now) return at;
    this.#verdict = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' };
    this.#services.events.record(this.#pod, 'Normal', this.#verdict.reason, this.#verdict.message);
    return undefined;
  }

  /** Whether all of it is to end, and how long it may take. */
  #ending(): { graceMs: number } | undefined {
    const { metadata, spec, status } = this.#pod;
    const own = spec.terminationGracePeriodSeconds * 1000;
    const asked = metadata.deletionGracePeriodSeconds === undefined ? own : metadata.deletionGracePeriodSeconds * 1000;
    if (this.#gone) return { graceMs: Math.max(leastGraceMs, asked) };
    if (metadata.deletionTimestamp !== undefined) return { graceMs: asked };
    return this.#verdict !== undefined || this.#finished || isTerminal(status?.phase) ? { graceMs: own } : undefined;
  }

  /** What is being started is given up; what is being ended gets no more time than it has now. */
  #hurry(graceMs: number): void {
    for (const starting of this.#starting.values()) starting.abort();
    for (const stopping of this.#stopping.values()) stopping.shorten(graceMs);
  }

  #containers(): Container[] {
    return [...(this.#pod.spec.initContainers ?? []), ...this.#pod.spec.containers];
  }

  #syncProbes(ending: boolean): void {
    const newest = this.#book.newest();
    const running = this.#containers().flatMap((container) => {
      const run = newest.get(container.name);
      return run?.state === 'running' && !this.#starting.has(container.name) ? [{ container, run }] : [];
    });
    this.#probes.sync({ pod: this.#pod, podIP: this.podIPs[0] ?? '', running, ending });
  }

  /** Names of running containers of which this holds. */
  #namesWhere(holds: (container: Container, run: Run) => boolean): Set<string> {
    const newest = this.#book.newest();
    return new Set(
      this.#containers().flatMap((container) => {
        const run = newest.get(container.name);
        return run?.state === 'running' && !this.#starting.has(container.name) && holds(container, run) ? [container.name] : [];
      }),
    );
  }

  #plan(ending: boolean, now: number): Plan {
    const runs = this.#book.newest();
    return planPod(
      {
        spec: this.#pod.spec,
        ending,
        sandbox: this.#sandbox === undefined ? undefined : { running: this.#sandbox.running, run: this.#sandboxRun },
        runs,
        busy: new Set([...this.#starting.keys(), ...this.#stopping.keys()]),
        sandboxBusy: this.#sandboxBusy,
        started: this.#namesWhere((container, run) => this.#probes.started(container, run)),
        unhealthy: new Map(
          [...runs].flatMap(([name, run]) => {
            const failed = this.#probes.failed(run);
            return failed === undefined ? [] : [[name, failed] as const];
          }),
        ),
        retryAt: this.#retryAt,
      },
      now,
    );
  }

  #status(plan: Plan, now: number) {
    const { status } = this.#pod;
    const stored = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return podStatus({
      pod: this.#pod,
      containers: {
        spec: this.#pod.spec,
        runs: this.#book.all,
        starting: new Set(this.#starting.keys()),
        waiting: this.#waiting,
        started: this.#namesWhere((container, run) => this.#probes.started(container, run)),
        ready: this.#namesWhere((container, run) => this.#probes.ready(container, run)),
        lastWords: this.#lastWords,
        stored: new Map(stored.map((one) => [one.name, one])),
        ending: this.#ending() !== undefined && plan.over,
      },
      sandbox: this.#sandbox,
      over: plan.over,
      verdict: this.#verdict,
      hostIPs: this.#services.hostIPs,
      seenAt: this.#seenAt,
      now,
    });
  }

  #noteBackOff(plan: Plan): void {
    const newest = this.#book.newest();
    for (const [name, { delayMs }] of plan.backingOff) {
      this.#waiting.set(name, { reason: 'CrashLoopBackOff', message: `back-off ${duration(delayMs)} restarting failed container=${name} pod=${describePod(this.#pod)}` });
      const id = newest.get(name)?.id ?? '';
      if (this.#toldBackOff.has(id)) continue;
      this.#toldBackOff.clear();
      this.#toldBackOff.add(id);
      this.#services.events.record(this.#pod, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${describePod(this.#pod)}`, name);
    }
  }

  #do(step: Step, graceMs: number | undefined): void {
    switch (step.do) {
      case 'sandbox':
        this.#sandboxBusy = true;
        if (step.anew && this.#sandbox !== undefined) this.#services.events.record(this.#pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
        return this.#later(() => this.#makeSandbox());
      case 'start':
        return this.#start(step);
      case 'stop':
        return this.#stop(step, graceMs);
      case 'discard':
        this.#stopping.set(step.run.name, new ContainerStop(this.#services, { ...this.#stopOrder(step.run), cause: 'finished', restart: false, graceMs: 0 }));
        return this.#later(async () => {
          await this.#services.runtime.removeContainer(step.run.id).catch((error: unknown) => this.#unexpected(error, 'container not removed'));
          this.#book.drop(step.run.id);
          this.#stopping.delete(step.run.name);
        });
    }
  }

  async #makeSandbox(): Promise<void> {
    const { runtime, slots, events, machineFiles } = this.#services;
    try {
      await this.#setUpFiles();
      const spec = sandboxSpec(this.#pod, await machineFiles.resolvConf());
      this.#sandbox = await slots.run('sandbox', () => runtime.startSandbox(spec));
      this.#sandboxRun = randomUUID();
      await this.#files.writeHosts(this.#pod, this.podIPs, machineFiles.hosts);
      this.#failures.delete(sandboxKey);
    } catch (error) {
      const failures = (this.#failures.get(sandboxKey) ?? 0) + 1;
      this.#failures.set(sandboxKey, failures);
      const { message } = error as Error;
      if (error instanceof VolumeProblem) {
        events.record(this.#pod, 'Warning', 'FailedMount', `MountVolume.SetUp failed for volume "${error.volume}" : ${message}`);
        this.#retryAt.set(sandboxKey, Date.now() + Math.min(mountRetryMs.first * 2 ** Math.min(failures - 1, 20), mountRetryMs.longest));
      } else {
        events.record(this.#pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${message}`);
        this.#retryAt.set(sandboxKey, Date.now() + retryDelay(failures));
      }
    } finally {
      this.#sandboxBusy = false;
    }
  }

  /** `maxAgeMs`: how old the materials may be. */
  async #setUpFiles(maxAgeMs?: number): Promise<void> {
    const materials = await this.#materials.get(maxAgeMs);
    await this.#files.setUp(this.#pod, materials, { podIPs: this.podIPs, hostIPs: this.#services.hostIPs, allocatable: this.#services.allocatable });
  }

  #start({ container, attempt, backOffMs }: Extract<Step, { do: 'start' }>): void {
    const { name } = container;
    const { sandbox } = this;
    if (sandbox === undefined) return;
    const aborting = new AbortController();
    this.#starting.set(name, aborting);
    let id: string | undefined;
    const order = {
      ...{ pod: this.#pod, container, attempt, backOffMs, sandboxId: sandbox.id, sandboxRun: this.#sandboxRun, podIPs: this.podIPs, files: this.#files, signal: aborting.signal },
      materials: () => this.#materials.get(),
    };
    this.#later(async () => {
      try {
        if (!this.#files.isSetUp) await this.#setUpFiles();
        await startRun(this.#services, {
          ...order,
          onContainer: (made) => {
            id = made.id;
            this.#book.put(made);
            this.#waiting.delete(name);
          },
        });
        this.#failures.delete(name);
      } catch (error) {
        await this.#startFailed(container, attempt, error);
      }
      // It may have ended meanwhile: then nobody would tell again.
      if (id !== undefined && this.#endedEarly.delete(id)) await this.#learn(id);
      this.#starting.delete(name);
    });
  }

  async #startFailed(container: Container, attempt: number, error: unknown): Promise<void> {
    const { name } = container;
    const failure = startFailure(error);
    this.#waiting.set(name, { reason: failure.reason, message: failure.message });
    if (failure.event !== undefined) this.#services.events.record(this.#pod, 'Warning', 'Failed', failure.event, name);
    if (failure.retryAfterMs > 0) this.#retryAt.set(name, Date.now() + failure.retryAfterMs);
    if (error instanceof RuntimeProblem && error.code === 'Start') {
      // What was made is left: it is the run that failed.
      const found = await this.#services.runtime.pods().catch(() => []);
      const left = found.find(({ podUid }) => podUid === this.uid)?.containers.find((made) => made.name === name && made.attempt === attempt);
      if (left === undefined) this.#retryAt.set(name, Date.now() + retryDelay(1));
      else this.#book.put({ ...left, problem: left.problem ?? error.message });
    }
  }

  #stopOrder(run: Run) {
    return { pod: this.#pod, container: this.#containers().find(({ name }) => name === run.name), name: run.name, id: run.id, podIP: this.podIPs[0] ?? '' };
  }

  #stop({ run, cause, restart }: Extract<Step, { do: 'stop' }>, graceMs: number | undefined): void {
    const order = this.#stopOrder(run);
    const probe = cause === 'liveness' ? order.container?.livenessProbe : cause === 'startup' ? order.container?.startupProbe : undefined;
    const own = (probe?.terminationGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds) * 1000;
    const stop = new ContainerStop(this.#services, { ...order, cause, restart, graceMs: graceMs ?? own });
    this.#stopping.set(run.name, stop);
    this.#later(async () => {
      try {
        await stop.run();
        await this.#learn(run.id);
      } catch (error) {
        this.#services.events.record(this.#pod, 'Warning', 'FailedKillPod', `error killing pod: ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, removeRetryMs));
      } finally {
        this.#stopping.delete(run.name);
      }
    });
  }

  /** Looks at a container that changed. */
  async #learn(id: string): Promise<void> {
    const container = await this.#services.runtime.inspect(id);
    if (container === undefined) this.#book.lose(id, Date.now());
    else {
      const problem = container.problem ?? this.#book.find(id)?.startProblem;
      const run = this.#book.put(problem === undefined ? container : { ...container, problem });
      await this.#readLastWords(run);
    }
  }

  async #readLastWords(run: Run): Promise<void> {
    if (run.state !== 'exited' || run.told !== undefined || this.#lastWords.has(run.id)) return;
    const container = this.#containers().find(({ name }) => name === run.name);
    if (container === undefined) return;
    this.#lastWords.set(run.id, await lastWordsOf(this.#services.runtime, this.#files.lastWordsFile(run.name, run.attempt), container, run));
  }

  #removeOld(): void {
    for (const run of this.#book.old()) {
      this.#book.drop(run.id);
      this.#lastWords.delete(run.id);
      if (run.told === undefined) this.#later(() => this.#services.runtime.removeContainer(run.id).catch((error: unknown) => this.#unexpected(error, 'ended container not removed')));
    }
  }

  /** Nothing runs and nothing will: a pod that is to be deleted is cleared away, any other gives back what it holds. */
  #rest(): void {
    this.#probes.stop();
    this.#materials.forget();
    if (this.#gone || this.#pod.metadata.deletionTimestamp !== undefined) {
      this.#closing = true;
      this.#later(() => this.#close());
    } else if (this.#sandbox?.running === true && !this.#sandboxBusy) {
      const { id } = this.#sandbox;
      this.#sandboxBusy = true;
      this.#later(async () => {
        await this.#services.runtime.stopContainer(id, 0).catch((error: unknown) => this.#unexpected(error, 'sandbox not ended'));
        if (this.#sandbox?.id === id) this.#sandbox = { ...this.#sandbox, running: false };
        this.#sandboxBusy = false;
      });
    }
  }

  /** The last status first, then the containers and files, then the object. */
  async #close(): Promise<void> {
    const { runtime, intake, images, log } = this.#services;
    const untilDone = async (what: string, work: () => Promise<void>): Promise<void> => {
      while (!this.#stopped) {
        try {
          return await work();
        } catch (error) {
          log.warn({ err: error, pod: describePod(this.#pod) }, `${what}; trying again`);
          await new Promise((resolve) => setTimeout(resolve, removeRetryMs));
        }
      }
    };
    if (!this.#gone) await this.#writer.settled();
    await untilDone('containers of a pod not removed', () => runtime.removePod(this.uid));
    await untilDone('files of a pod not removed', () => this.#files.remove());
    if (!this.#gone) await untilDone('end of a pod not told', () => intake.gone(this.#pod));
    if (this.#stopped) return;
    images.forget(this.uid);
    this.#writer.stop();
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#onDone(this.uid);
  }

  #busy(): boolean {
    return this.#sandboxBusy || this.#starting.size > 0 || this.#stopping.size > 0;
  }

  /** Runs beside the loop and wakes it when done. */
  #later(work: () => Promise<void>): void {
    const done = work()
      .catch((error: unknown) => this.#unexpected(error, 'pod not looked after; trying again'))
      .finally(() => {
        this.#work.delete(done);
        this.wake();
      });
    this.#work.add(done);
  }

  #unexpected(error: unknown, what: string): void {
    this.#services.log.warn({ err: error, pod: describePod(this.#pod) }, what);
  }
}

/** `10s`, `1m20s`, `5m0s`: as Go writes durations. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
