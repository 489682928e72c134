/** Items on their way from one side to a slower one. Whoever puts in asks `room()` before it goes on; so memory stays bounded. */
export class Queue<T> implements AsyncIterable<T> {
  readonly #highWater: number;
  readonly #costOf: (item: T) => number;
  #items: T[] = [];
  #cost = 0;
  #over: { error?: Error } | undefined;
  #taker: (() => void) | undefined;
  #waiting: (() => void)[] = [];

  constructor(highWater: number, costOf: (item: T) => number) {
    this.#highWater = highWater;
    this.#costOf = costOf;
  }

  push(item: T): void {
    if (this.#over) return;
    this.#items.push(item);
    this.#cost += this.#costOf(item);
    this.#wake();
  }

  get full(): boolean {
    return this.#cost >= this.#highWater && !this.#over;
  }

  /** Resolves when there is room, or when nobody takes any more. */
  async room(): Promise<void> {
    while (this.full) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** No more will come; what is there can still be taken. With `error` the taker gets that at the end. */
  end(error?: Error): void {
    this.#over ??= error ? { error } : {};
    this.#wake();
    this.#relieve();
  }

  /** Nobody will take any more. */
  drop(): void {
    this.#items = [];
    this.#cost = 0;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const items = this.#items.splice(0);
      for (const item of items) {
        this.#cost -= this.#costOf(item);
        if (!this.full) this.#relieve();
        yield item;
      }
      if (items.length > 0) continue;
      if (this.#over?.error) throw this.#over.error;
      if (this.#over) return;
      await new Promise<void>((resolve) => (this.#taker = resolve));
    }
  }

  #wake(): void {
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.();
  }

  #relieve(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
