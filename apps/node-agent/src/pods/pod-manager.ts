import { readdir } from 'node:fs/promises';
import type { Pod } from '@roundsman/api';
import type { PodOnRuntime, RuntimeEvent } from '@roundsman/containers';
import { hasMaterialVolumes } from '../environment/materials.ts';
import type { PodChanges } from '../intake/pod-source.ts';
import { isTerminal } from '../status/phase.ts';
import { FilesKept, PodFiles } from '../volumes/pod-files.ts';
import { refusal } from './admission.ts';
import type { NodeServices } from './node-services.ts';
import { endOrphan } from './orphans.ts';
import { PodWorker } from './pod-worker.ts';

const lookEveryMs = 10_000;
const refreshVolumesEveryMs = 60_000;

/** Has one worker for each pod of the node, tells them what changes, and ends what nobody wants. */
export class PodManager implements PodChanges {
  readonly #services: NodeServices;
  readonly #workers = new Map<string, PodWorker>();
  /** What was found on the machine at the start and belongs to no pod that is known yet. */
  #found = new Map<string, PodOnRuntime>();
  /** What happened to pods that nobody knew yet since the machine was looked at last. */
  #unheard: RuntimeEvent[] = [];
  readonly #ending = new Set<string>();
  #looked: Promise<void> = Promise.resolve();
  #hasLooked = false;
  /** Pods that begin when the machine was looked at for the first time: until then nobody knows what they have. */
  #unbegun: (() => void)[] = [];
  #listed = false;
  #problem: string | undefined = 'the container runtime was not looked at yet';
  readonly #unwatch: (() => void)[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #looking = false;
  #stopped = false;

  constructor(services: NodeServices) {
    this.#services = services;
  }

  /** Why containers cannot be run now; undefined when they can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get workers(): ReadonlyMap<string, PodWorker> {
    return this.#workers;
  }

  async start(): Promise<void> {
    const { runtime, network } = this.#services;
    this.#unwatch.push(runtime.watch((event) => this.#event(event)), network.onReady(() => this.#retry()));
    await this.#look();
    this.#timers.push(
      setInterval(() => void this.#look(), lookEveryMs),
      setInterval(() => this.#refreshVolumes(), refreshVolumesEveryMs),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const unwatch of this.#unwatch) unwatch();
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
    await this.#looked;
  }

  all(pods: readonly Pod[]): void {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const pod of pods.toSorted(byRight)) this.changed(pod);
    for (const [uid, worker] of this.#workers) if (!uids.has(uid)) worker.removed(worker.pod);
    this.#listed = true;
    this.#endOrphans();
  }

  changed(pod: Pod): void {
    const { uid } = pod.metadata;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) worker.update(pod);
    else this.#add(pod);
  }

  gone(pod: Pod): void {
    this.#workers.get(pod.metadata.uid)?.removed(pod);
  }

  #add(pod: Pod): void {
    const { uid } = pod.metadata;
    const earlier = [...this.#workers.values()];
    const isBegun = pod.status?.startTime !== undefined || pod.metadata.deletionTimestamp !== undefined || isTerminal(pod.status?.phase);
    const worker = new PodWorker(this.#services, pod, () => this.#workers.delete(uid));
    this.#workers.set(uid, worker);
    const begin = (): void => {
      const found = this.#found.get(uid);
      this.#found.delete(uid);
      const others = earlier.filter((other) => other.takesRoom).map((other) => other.pod);
      void worker.start(found, found === undefined && !isBegun ? refusal(pod, others, this.#services.allocatable) : undefined);
      for (const event of this.#unheard) if (event.podUid === uid) worker.event(event);
    };
    if (this.#hasLooked) return begin();
    this.#unbegun.push(begin);
    // Of a pod that was begun before nobody knows: it may well run.
    if (!isBegun) this.#services.events.record(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${this.#problem}`);
  }

  #event(event: RuntimeEvent): void {
    const worker = this.#workers.get(event.podUid);
    if (worker === undefined) this.#unheard.push(event);
    else worker.event(event);
  }

  /** Looks at everything on the machine: what the stream of events missed, and what nobody wants. */
  async #look(): Promise<void> {
    if (this.#looking || this.#stopped) return;
    this.#looking = true;
    this.#looked = this.#lookOnce().finally(() => {
      this.#looking = false;
    });
    await this.#looked;
  }

  async #lookOnce(): Promise<void> {
    const { runtime, network, log } = this.#services;
    const before = this.#problem;
    const seen = new Map([...this.#workers].map(([uid, worker]) => [uid, worker.seen]));
    this.#problem = await runtime.problem().catch((error: Error) => error.message);
    if (this.#problem !== undefined && this.#problem !== before) log.warn({ problem: this.#problem }, 'no containers can be run now');
    let pods: Map<string, PodOnRuntime>;
    this.#unheard = [];
    try {
      const found = await runtime.pods();
      if (!this.#hasLooked) await network.adopt(found);
      pods = new Map(found.map((pod) => [pod.podUid, pod]));
    } catch (error) {
      this.#problem ??= (error as Error).message;
      return;
    }
    if (this.#hasLooked) {
      for (const [uid, version] of seen) this.#workers.get(uid)?.observe(pods.get(uid), version);
      this.#found = new Map([...pods].filter(([uid]) => !this.#workers.has(uid) && !seen.has(uid)));
    } else {
      this.#hasLooked = true;
      this.#found = pods;
      for (const begin of this.#unbegun.splice(0)) begin();
    }
    this.#endOrphans();
    if (before !== undefined && this.#problem === undefined) this.#retry();
  }

  /** Pods on the machine that the record does not know: ended, their files removed. Only after all pods were listed and the machine was looked at. */
  #endOrphans(): void {
    if (!this.#listed || !this.#hasLooked) return;
    for (const [uid, pod] of this.#found) {
      this.#found.delete(uid);
      this.#end(uid, () => endOrphan(this.#services, pod));
    }
    void this.#removeFiles();
  }

  async #removeFiles(): Promise<void> {
    const folders = await readdir(this.#services.podsFolder).catch(() => []);
    for (const uid of folders) if (!this.#workers.has(uid) && !this.#found.has(uid) && !this.#ending.has(uid)) this.#end(uid, () => new PodFiles(this.#services.podsFolder, uid).remove());
  }

  #end(uid: string, work: () => Promise<void>): void {
    if (this.#ending.has(uid)) return;
    this.#ending.add(uid);
    void work()
      .then(
        () => this.#ending.delete(uid),
        (error: unknown) => {
          this.#services.log.warn({ err: error, pod: uid }, 'what is left of a pod was not removed');
          // Else the next look tries again.
          if (!(error instanceof FilesKept)) this.#ending.delete(uid);
        },
      );
  }

  #retry(): void {
    for (const worker of this.#workers.values()) worker.retry();
  }

  #refreshVolumes(): void {
    for (const worker of this.#workers.values()) if (hasMaterialVolumes(worker.pod) || (worker.pod.spec.volumes ?? []).some(({ downwardAPI }) => downwardAPI !== undefined)) worker.refreshVolumes();
  }
}

/** Who was begun goes before who was not, then the older one: the node is full for the others. */
function byRight(a: Pod, b: Pod): number {
  const begun = ({ status }: Pod): number => (status?.startTime === undefined ? 1 : 0);
  return begun(a) - begun(b) || (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
}
