import type { PodContainer } from '@roundsman/containers';
import { lostRun, runOf, type Run } from '../containers/run.ts';

/** Runs kept of a container besides its newest: for `logs --previous` and the last state. */
const keptBefore = 1;

/** The runs of a pod's containers as far as they are known here. */
export class RunBook {
  readonly #runs = new Map<string, Run[]>();
  /** Changes with every change: what was seen before is told from what is known now. */
  version = 0;

  /** Newest first, by container. */
  get all(): ReadonlyMap<string, readonly Run[]> {
    return this.#runs;
  }

  newest(): Map<string, Run> {
    return new Map([...this.#runs].flatMap(([name, [run]]) => (run === undefined ? [] : [[name, run] as const])));
  }

  find(id: string): Run | undefined {
    for (const runs of this.#runs.values()) for (const run of runs) if (run.id === id) return run;
    return undefined;
  }

  put(container: PodContainer): Run {
    const run = runOf(container);
    const others = (this.#runs.get(run.name) ?? []).filter(({ id }) => id !== run.id);
    this.#runs.set(run.name, [...others, run].sort((a, b) => b.attempt - a.attempt || b.createdAt - a.createdAt));
    this.version += 1;
    return run;
  }

  /** A run without a container: known from elsewhere. */
  add(run: Run): void {
    this.#runs.set(run.name, [...(this.#runs.get(run.name) ?? []), run]);
    this.version += 1;
  }

  /** Its container is gone. The newest is remembered all the same: what it was decides what comes next. */
  lose(id: string, now: number): void {
    const run = this.find(id);
    if (run === undefined) return;
    const [newest] = this.#runs.get(run.name) ?? [];
    if (newest?.id !== id) this.drop(id);
    else if (run.state !== 'exited') {
      this.#runs.set(run.name, (this.#runs.get(run.name) ?? []).map((other) => (other.id === id ? lostRun(run, now) : other)));
      this.version += 1;
    }
  }

  drop(id: string): void {
    const run = this.find(id);
    if (run === undefined) return;
    const left = (this.#runs.get(run.name) ?? []).filter((other) => other.id !== id);
    if (left.length === 0) this.#runs.delete(run.name);
    else this.#runs.set(run.name, left);
    this.version += 1;
  }

  /** Takes what there is for all there is. Those that have ended since are not taken as ended but returned: whoever tells of an end must know its last words. */
  replace(containers: readonly PodContainer[], now: number): { readonly changed: boolean; readonly ended: readonly string[] } {
    const before = this.version;
    const ended: string[] = [];
    const ids = new Set(containers.map(({ id }) => id));
    for (const run of [...this.#runs.values()].flat()) if (!ids.has(run.id)) this.lose(run.id, now);
    for (const container of containers) {
      const known = this.find(container.id);
      const seen = runOf(container);
      if (known !== undefined && known.state === seen.state && known.finishedAt === seen.finishedAt) continue;
      if (seen.state === 'exited') ended.push(container.id);
      else this.put(container);
    }
    return { changed: this.version !== before, ended };
  }

  /** Ended runs that nobody asks for any more. */
  old(): Run[] {
    return [...this.#runs.values()].flatMap((runs) => runs.slice(1 + keptBefore).filter(({ state }) => state !== 'running'));
  }
}
