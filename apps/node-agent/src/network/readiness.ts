/** Pods wait until the network of their node is there; nothing is wrong with them. */
export class NetworkNotReady extends Error {
  override readonly name = 'NetworkNotReady';
}

/** An agent that has just been started knows its addresses in a moment. */
const patienceMs = 3_000;

/** Whether something can be used now, and if not, why. */
export class Readiness {
  readonly #listeners = new Set<() => void>();
  #problem: string | undefined;

  constructor(problem: string) {
    this.#problem = problem;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** `renewed`: it can be used, and is not what it was. */
  set(problem: string | undefined, { renewed = false }: { readonly renewed?: boolean } = {}): void {
    const before = this.#problem;
    this.#problem = problem;
    if (problem === undefined && (before !== undefined || renewed)) for (const listener of this.#listeners) listener();
  }

  /** Called whenever it can be used again. The answer ends it. */
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Waits a moment; throws NetworkNotReady. */
  async wait(): Promise<void> {
    if (this.#problem === undefined) return;
    let end: () => void = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      end = this.onReady(resolve);
      timer = setTimeout(resolve, patienceMs);
    });
    end();
    clearTimeout(timer);
    if (this.#problem !== undefined) throw new NetworkNotReady(this.#problem);
  }
}
