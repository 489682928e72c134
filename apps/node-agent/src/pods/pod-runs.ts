import type { Container, Pod } from '@roundsman/api';
import type { PodContainer, PodOnRuntime, PodRuntime } from '@roundsman/containers';
import { runOf, storedRun, type Run } from '../containers/run.ts';
import { lastWordsOf } from '../status/last-words.ts';
import type { PodFiles } from '../volumes/pod-files.ts';
import { RunBook } from './run-book.ts';

/** The runs of a pod's containers, kept up with the machine, and their last words. */
export class PodRuns {
  readonly #runtime: PodRuntime;
  readonly #files: PodFiles;
  readonly #containers: () => readonly Container[];
  readonly #book = new RunBook();
  readonly #lastWords = new Map<string, string>();
  /** Looks under way, by container id. */
  readonly #looks = new Map<string, Promise<void>>();

  constructor(runtime: PodRuntime, files: PodFiles, containers: () => readonly Container[]) {
    this.#runtime = runtime;
    this.#files = files;
    this.#containers = containers;
  }

  /** Newest first, by container. */
  get all(): ReadonlyMap<string, readonly Run[]> {
    return this.#book.all;
  }
  /** By container id. */
  get lastWords(): ReadonlyMap<string, string> {
    return this.#lastWords;
  }
  get version(): number {
    return this.#book.version;
  }
  newest(): Map<string, Run> {
    return this.#book.newest();
  }
  knows(id: string): boolean {
    return this.#book.find(id) !== undefined;
  }
  /** One that was just seen. Its end is known together with its last words, never before: it may have ended while it was started. */
  async put(container: PodContainer): Promise<void> {
    await this.#readLastWords(runOf(container));
    this.#book.put(container);
  }
  drop(id: string): void {
    this.#book.drop(id);
  }

  /** What a new agent finds; what only the stored status tells of is remembered as lost. */
  async adopt(found: PodOnRuntime | undefined, { initContainerStatuses = [], containerStatuses = [] }: NonNullable<Pod['status']>): Promise<void> {
    for (const container of found?.containers ?? []) this.#book.put(container);
    for (const told of [...initContainerStatuses, ...containerStatuses]) {
      const run = this.#book.all.has(told.name) ? undefined : storedRun(told, Date.now());
      if (run !== undefined) this.#book.add(run);
    }
    await this.#readAll();
  }

  /** Takes what there is on the machine for all there is: whether anything differed, and the containers that have ended since, to be learned of. */
  replace(found: PodOnRuntime | undefined): { readonly changed: boolean; readonly ended: readonly string[] } {
    return this.#book.replace(found?.containers ?? [], Date.now());
  }

  /** Looks at a container that changed, after whoever looks at it already: the later look knows more. */
  async learn(id: string): Promise<void> {
    const look = (this.#looks.get(id) ?? Promise.resolve()).catch(() => undefined).then(() => this.#look(id));
    this.#looks.set(id, look);
    try {
      await look;
    } finally {
      if (this.#looks.get(id) === look) this.#looks.delete(id);
    }
  }

  async #look(id: string): Promise<void> {
    const container = await this.#runtime.inspect(id);
    if (container === undefined) return this.#book.lose(id, Date.now());
    const problem = container.problem ?? this.#book.find(id)?.startProblem;
    await this.put(problem === undefined ? container : { ...container, problem });
  }

  /** The run that a failed start has left, if it has; its words are the daemon's. */
  async learnFailed(podUid: string, name: string, attempt: number, problem: string): Promise<boolean> {
    const pods = await this.#runtime.pods();
    const left = pods.find((pod) => pod.podUid === podUid)?.containers.find((made) => made.name === name && made.attempt === attempt);
    if (left !== undefined) await this.put({ ...left, problem: left.problem ?? problem });
    return left !== undefined;
  }

  /** Takes ended runs that nobody asks for any more off the books; those to be removed from the machine are returned. */
  forgetOld(): Run[] {
    const old = this.#book.old();
    for (const { id } of old) {
      this.#book.drop(id);
      this.#lastWords.delete(id);
    }
    return old.filter(({ told }) => told === undefined);
  }

  async #readAll(): Promise<void> {
    await Promise.all([...this.#book.all.values()].flat().map((run) => this.#readLastWords(run)));
  }

  async #readLastWords(run: Run): Promise<void> {
    if (run.state !== 'exited' || run.told !== undefined || this.#lastWords.has(run.id)) return;
    const container = this.#containers().find(({ name }) => name === run.name);
    if (container === undefined) return;
    this.#lastWords.set(run.id, await lastWordsOf(this.#runtime, this.#files.lastWordsFile(run.name, run.attempt), container, run));
  }
}
