import { ProbeError, clip } from './errors.ts';
import { Nowhere } from './nowhere.ts';
import type { Pinned } from './resolve.ts';
import type { TargetRun } from './target-run.ts';
import { after } from './timer.ts';

/** From the begin of one look-up of a name to that of the next one, at least, milliseconds. */
export const lookAgainMs = 1000;

/**
 * Where the requests for one host go during a round. Found once, it stays. Until then each request fails with what the last look-up said, and makes
 * that the name is looked up again: one look-up at a time, none that no request asked for.
 */
export class Resolution {
  readonly #host: string;
  readonly #find: () => Promise<Pinned>;
  readonly #runs: TargetRun[] = [];
  #where: Pinned | ProbeError;
  #begunAt = 0;
  #looking = false;
  #callOff: (() => void) | undefined;
  #over = false;

  /** `find` rejects with a ProbeError, which is a result; anything else is a fault. */
  constructor(host: string, find: () => Promise<Pinned>) {
    this.#host = host;
    this.#find = find;
    this.#where = new ProbeError('unresolved', `${clip(host)} was not looked up`);
  }

  /** The first look-up. What takes longer than `timeoutMs` goes on, and counts when it ends. */
  async first(timeoutMs: number, signal: AbortSignal): Promise<Pinned | ProbeError> {
    const stop = Promise.withResolvers<ProbeError>();
    const onAbort = (): void => stop.resolve(new ProbeError('canceled', 'canceled while resolving the name'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // After a stall of this process the answer may be there already: it is read first.
    let check: NodeJS.Immediate | undefined;
    const late = (): void => stop.resolve(new ProbeError('unresolved', `${clip(this.#host)} was not resolved within ${Math.round(timeoutMs)} ms`));
    const callOff = after(timeoutMs, () => void (check = setImmediate(late)));
    try {
      return (this.#where = await Promise.race([this.#look(), stop.promise]));
    } finally {
      callOff();
      clearImmediate(check);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Where the requests of this target go now; when that changes, it is told. */
  lead(run: TargetRun): Pinned | Nowhere {
    this.#runs.push(run);
    return this.#whereFor(run);
  }

  /** Nothing is looked up from now on, and nobody is told what is found. */
  stop(): void {
    this.#over = true;
    this.#callOff?.();
  }

  #whereFor(run: TargetRun): Pinned | Nowhere {
    return this.#where instanceof ProbeError ? new Nowhere(this.#where, run.record, this.#missed) : this.#where;
  }

  readonly #missed = (): void => {
    const mayChange = this.#where instanceof ProbeError && this.#where.code === 'unresolved';
    if (!mayChange || this.#looking || this.#callOff !== undefined || this.#over) return;
    this.#callOff = after(Math.max(0, this.#begunAt + lookAgainMs - performance.now()), () => {
      this.#callOff = undefined;
      void this.#look();
    });
  };

  async #look(): Promise<Pinned | ProbeError> {
    this.#begunAt = performance.now();
    this.#looking = true;
    const where = await this.#find().catch((error: unknown) => {
      if (error instanceof ProbeError) return error;
      throw error;
    });
    this.#looking = false;
    if (this.#over) return where;
    this.#where = where;
    for (const run of this.#runs) run.turnTo(this.#whereFor(run));
    return where;
  }
}
