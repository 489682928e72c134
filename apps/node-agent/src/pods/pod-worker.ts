import type { Container, Pod, PodStatus } from '@roundsman/api';
import type { PodOnRuntime, RuntimeEvent } from '@roundsman/containers';
import type { Run } from '../containers/run.ts';
import { MaterialsCache } from '../environment/materials-cache.ts';
import { PodProbes } from '../probes/pod-probes.ts';
import { isTerminal } from '../status/phase.ts';
import { podStatus, type Verdict } from '../status/pod-status.ts';
import { StatusWriter } from '../status/status-writer.ts';
import { PodFiles } from '../volumes/pod-files.ts';
import { mountFailed, VolumeProblem } from '../volumes/volume-problem.ts';
import type { Refusal } from './admission.ts';
import { closePod } from './close-pod.ts';
import { ContainerWork, type WorkedPod } from './container-work.ts';
import { deadlineExceeded, deadlineOf } from './deadline.ts';
import { describePod } from './describe.ts';
import { graceLeft, graceOf } from './grace.ts';
import type { NodeServices } from './node-services.ts';
import { planPod, type Plan, type Step } from './plan.ts';
import { PodRuns } from './pod-runs.ts';
import { PodSandbox } from './pod-sandbox.ts';

/** After something failed that has no wait of its own. */
const againAfterMs = 1_000;
/** setTimeout fires at once beyond this. */
const longestTimer = 2 ** 31 - 1;

/**
 * Runs one pod: one loop that looks at all that is known, starts what is to be done (planPod) and tells the status. What takes long runs beside it,
 * at most one thing per container, and wakes it when done; so nothing waits behind a pull or a hook.
 */
export class PodWorker {
  readonly #services: NodeServices;
  readonly #onDone: () => void;
  readonly #files: PodFiles;
  readonly #runs: PodRuns;
  readonly #sandbox: PodSandbox;
  readonly #work: ContainerWork;
  readonly #materials: MaterialsCache;
  readonly #probes: PodProbes;
  readonly #writer: StatusWriter;
  readonly #seenAt = Date.now();

  #pod: Pod;
  /** The object is gone. */
  #gone = false;
  #verdict: Verdict | undefined;
  /** Its containers have ended by themselves, for good. */
  #finished = false;
  #closing = false;
  /** When it began to end, epoch milliseconds: all stops of it share one grace. */
  #endingSince: number | undefined;
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  /** It looks only when it knows what there is. */
  #ready = false;
  /** What happened until then. */
  readonly #unheard: RuntimeEvent[] = [];
  #woken = false;
  #stopped = false;

  constructor(services: NodeServices, pod: Pod, onDone: () => void) {
    this.#services = services;
    this.#pod = pod;
    this.#onDone = onDone;
    this.#files = new PodFiles(services.podsFolder, pod.metadata.uid);
    this.#runs = new PodRuns(services.runtime, this.#files, () => this.#containers());
    this.#sandbox = new PodSandbox(services, this.#files);
    this.#work = new ContainerWork(services, this.#runs, this.#sandbox, this.#files);
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
  /** Newest first, by container. */
  get runs(): ReadonlyMap<string, readonly Run[]> {
    return this.#runs.all;
  }
  get podIPs(): readonly string[] {
    return this.#pod.spec.hostNetwork === true ? this.#services.hostIPs : (this.#sandbox.current?.addresses ?? []);
  }
  /** Whether what it asks for is to be kept for it: not when it has ended, or was never taken. */
  get takesRoom(): boolean {
    return !this.#finished && (this.#verdict === undefined || this.#runs.all.size > 0);
  }
  /** Changes with all that is seen of its containers: an older look at them is of no use. */
  get seen(): number {
    return this.#runs.version;
  }

  /** Begins, with what there is of it on the machine and perhaps a reason why the node does not take it. */
  async start(found: PodOnRuntime | undefined, refused: Refusal | undefined): Promise<void> {
    if (refused !== undefined) {
      this.#services.events.record(this.#pod, 'Warning', refused.reason, refused.message);
      this.#verdict = { reason: refused.reason, message: `Pod was rejected: ${refused.message}` };
    }
    await this.#runs.adopt(found, this.#pod.status ?? {});
    const newest = [...this.#runs.all.values()].flat().reduce<Run | undefined>((last, run) => (last === undefined || run.createdAt > last.createdAt ? run : last), undefined);
    this.#sandbox.adopt(this.#pod, found?.sandbox, newest?.sandboxRun);
    this.#ready = true;
    for (const event of this.#unheard.splice(0)) this.event(event);
    this.wake();
  }

  update(pod: Pod): void {
    if (Number(pod.metadata.resourceVersion) < Number(this.#pod.metadata.resourceVersion)) return;
    const images = new Map(this.#containers().map(({ name, image }) => [name, image]));
    this.#pod = pod;
    // A wait was for the image that it had.
    for (const { name, image } of this.#containers()) if (images.get(name) !== image) this.#work.retryNow(name);
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
    if (!this.#ready || seen !== this.seen || this.#sandbox.busy || this.#work.busy.size > 0 || this.#closing) return;
    const { changed, ended } = this.#runs.replace(found);
    if (!this.#sandbox.observe(found?.sandbox) && !changed && ended.length === 0) return;
    for (const id of ended) this.#beside(() => this.#runs.learn(id));
    this.wake();
  }

  event(event: RuntimeEvent): void {
    if (!this.#ready) return void this.#unheard.push(event);
    const { container, id, type } = event;
    // That its memory was full may be told after its end.
    if (type === 'started' || (type === 'oom' && !this.#runs.knows(id))) return;
    if (container === undefined) {
      if (this.#sandbox.ended(id)) this.wake();
    } else if (this.#runs.knows(id)) this.#beside(() => this.#runs.learn(id));
    else this.#work.endedUnknown(container, id);
  }

  /** The daemon is back, or the network, which may be another one: what waited for it is tried now. */
  retry(): void {
    this.#work.retryNow();
    this.#sandbox.retryNow();
    this.#sandbox.review(this.#pod);
    this.wake();
  }

  /** Brings volumes up to date with the ConfigMaps and Secrets they show. */
  refreshVolumes(): void {
    if (this.#sandbox.current?.running !== true || this.#sandbox.busy || this.#ending() !== undefined) return;
    this.#beside(() =>
      this.#setUpFiles(0).catch((error: unknown) => {
        if (!(error instanceof VolumeProblem)) throw error;
        this.#services.events.record(this.#pod, 'Warning', 'FailedMount', mountFailed(error));
      }),
    );
  }

  wake(): void {
    if (this.#woken || this.#stopped || !this.#ready) return;
    this.#woken = true;
    queueMicrotask(() => {
      this.#woken = false;
      if (!this.#stopped && !this.#closing) this.#look();
    });
  }

  /** The agent goes; the pod stays as it is. */
  async stop(): Promise<void> {
    this.#end();
    await Promise.race([Promise.all(this.#underWay), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
  }

  #end(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#probes.stop();
    this.#writer.stop();
  }

  #look(): void {
    const now = Date.now();
    const deadline = this.#judgeDeadline(now);
    const ending = this.#ending();
    if (ending !== undefined) this.#work.hurry(ending.graceMs);
    this.#probes.sync({ pod: this.#pod, podIP: this.podIPs[0] ?? '', running: this.#up(), ending: ending !== undefined });
    const plan = this.#plan(ending !== undefined, now);
    if (plan.over) this.#finished = true;
    this.#work.noteBackOff(this.#pod, plan);
    const graceMs = ending && graceLeft(ending.graceMs, now - (this.#endingSince ??= now));
    for (const step of plan.steps) this.#do(step, graceMs);
    for (const run of this.#runs.forgetOld()) this.#beside(() => this.#forget(run));
    if (!this.#gone) this.#writer.set(this.#status(plan.over, now), this.#pod.status);
    if (plan.over) this.#rest();
    clearTimeout(this.#timer);
    const wakeAt = Math.min(plan.wakeAt ?? Infinity, deadline ?? Infinity);
    if (wakeAt !== Infinity) this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(0, wakeAt - now), longestTimer));
  }

  /** When its time is over, epoch milliseconds; undefined without a limit, and after it. */
  #judgeDeadline(now: number): number | undefined {
    if (this.#verdict !== undefined || this.#finished || isTerminal(this.#pod.status?.phase)) return undefined;
    const at = deadlineOf(this.#pod, this.#seenAt);
    if (at === undefined || at > now) return at;
    this.#verdict = deadlineExceeded;
    this.#services.events.record(this.#pod, 'Normal', this.#verdict.reason, this.#verdict.message);
    return undefined;
  }

  /** Whether all of it is to end, and how long it may take. */
  #ending(): { graceMs: number } | undefined {
    const graceMs = graceOf(this.#pod, { isGone: this.#gone, isOver: this.#verdict !== undefined || this.#finished });
    return graceMs === undefined ? undefined : { graceMs };
  }

  #containers(): Container[] {
    return [...(this.#pod.spec.initContainers ?? []), ...this.#pod.spec.containers];
  }

  /** Containers that run, with postStart behind them. */
  #up(): { container: Container; run: Run }[] {
    const newest = this.#runs.newest();
    const { starting } = this.#work;
    return this.#containers().flatMap((container) => {
      const run = newest.get(container.name);
      return run?.state === 'running' && !starting.has(container.name) ? [{ container, run }] : [];
    });
  }

  #upWhere(holds: (container: Container, run: Run) => boolean): Set<string> {
    return new Set(this.#up().flatMap(({ container, run }) => (holds(container, run) ? [container.name] : [])));
  }

  #plan(ending: boolean, now: number): Plan {
    const runs = this.#runs.newest();
    const sandbox = this.#sandbox.current;
    return planPod(
      {
        spec: this.#pod.spec,
        ending,
        sandbox: sandbox === undefined ? undefined : { running: sandbox.running, run: this.#sandbox.run },
        sandboxBusy: this.#sandbox.busy,
        sandboxRetryAt: this.#sandbox.retryAt,
        runs,
        busy: this.#work.busy,
        started: this.#upWhere((container, run) => this.#probes.started(container, run)),
        unhealthy: this.#probes.unhealthy(runs.values()),
        retryAt: this.#work.retryAt,
      },
      now,
    );
  }

  #status(over: boolean, now: number): PodStatus {
    const { status } = this.#pod;
    const stored = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return podStatus({
      pod: this.#pod,
      containers: {
        spec: this.#pod.spec,
        runs: this.#runs.all,
        starting: this.#work.starting,
        waiting: this.#work.waiting,
        started: this.#upWhere((container, run) => this.#probes.started(container, run)),
        ready: this.#upWhere((container, run) => this.#probes.ready(container, run)),
        lastWords: this.#runs.lastWords,
        stored: new Map(stored.map((one) => [one.name, one])),
        ending: over,
      },
      sandbox: this.#sandbox.current,
      over,
      verdict: this.#verdict,
      hostIPs: this.#services.hostIPs,
      pending: this.#writer.pending,
      seenAt: this.#seenAt,
      now,
    });
  }

  #do(step: Step, graceMs: number | undefined): void {
    switch (step.do) {
      case 'sandbox':
        if (step.anew) this.#services.events.record(this.#pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
        return this.#beside(() => this.#sandbox.make(this.#pod, () => this.podIPs, () => this.#setUpFiles()));
      case 'start':
        return this.#beside(() => this.#work.start(step, this.#worked()));
      case 'stop':
        return this.#beside(() => this.#work.stop(step, this.#containers().find(({ name }) => name === step.run.name), graceMs, this.#worked()));
      case 'discard':
        return this.#beside(() => this.#work.discard(step.run));
    }
  }

  #worked(): WorkedPod {
    return {
      pod: this.#pod,
      podIPs: this.podIPs,
      materials: () => this.#materials.get(),
      setUpFiles: () => (this.#files.isSetUp ? Promise.resolve() : this.#setUpFiles()),
    };
  }

  /** `maxAgeMs`: how old the materials may be. */
  async #setUpFiles(maxAgeMs?: number): Promise<void> {
    const materials = await this.#materials.get(maxAgeMs);
    await this.#files.setUp(this.#pod, materials, { podIPs: this.podIPs, hostIPs: this.#services.hostIPs, allocatable: this.#services.allocatable });
    // Of a sandbox that an earlier agent made and did not get further with.
    if (this.#sandbox.current?.running === true) await this.#sandbox.writeFiles(this.#pod, this.podIPs);
  }

  async #forget({ id, name, attempt }: Run): Promise<void> {
    await this.#services.runtime.removeContainer(id);
    await this.#files.forgetRun(name, attempt);
  }

  /** Nothing runs and nothing will: a pod that is to be deleted is cleared away, any other gives back what it holds. */
  #rest(): void {
    this.#probes.stop();
    if (this.#gone || this.#pod.metadata.deletionTimestamp !== undefined) {
      this.#closing = true;
      this.#beside(async () => {
        // Volumes that are just brought up to date would lie there again.
        await Promise.all(this.#underWay);
        // The last status comes before the end.
        if (!this.#gone) await this.#writer.settled();
        await closePod(this.#services, this.#files, this.#pod, () => this.#gone, () => this.#stopped);
        if (this.#stopped) return;
        this.#end();
        this.#onDone();
      });
    } else if (this.#sandbox.current?.running === true && !this.#sandbox.busy) this.#beside(() => this.#sandbox.end());
  }

  /** Goes on while the loop looks, and wakes it when done. */
  #beside(work: () => Promise<void>): void {
    const done = work()
      .catch(async (error: unknown) => {
        this.#services.log.warn({ err: error, pod: describePod(this.#pod) }, 'something of a pod could not be done; it is looked at again');
        await new Promise((resolve) => setTimeout(resolve, againAfterMs).unref());
      })
      .finally(() => {
        this.#underWay.delete(done);
        this.wake();
      });
    this.#underWay.add(done);
  }
}
