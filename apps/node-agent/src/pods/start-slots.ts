export type StartKind = 'container' | 'sandbox';

/**
 * Bounds how many sandboxes and containers are being started at the same time: more only make the daemon slower. Containers go before sandboxes,
 * so that pods are finished before others are begun.
 */
export class StartSlots {
  #most = 1;
  #taken = 0;
  readonly #waiting: Record<StartKind, (() => void)[]> = { container: [], sandbox: [] };

  /** At most so many at once. */
  allow(most: number): void {
    this.#most = most;
  }

  async run<T>(kind: StartKind, work: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken += 1;
    // Whoever ends hands its slot on.
    else await new Promise<void>((resolve) => this.#waiting[kind].push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.container.shift() ?? this.#waiting.sandbox.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
