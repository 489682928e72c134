/**
 * What a sender may have under way. Enough for the full speed of a loopback; 64 MB of it waiting for one process that has stalled would make the
 * NATS server cut that off, which takes over a hundred pipes. Frames cost their bytes and a share for what each takes in memory, so that many small ones are
 * bounded too.
 */
export const windowCost = 512 << 10;
const costPerFrame = 512;
export const costOf = (payloadBytes: number): number => payloadBytes + costPerFrame;

/** The sender's side: takes what it sends from what it was granted, and waits for more. One waits at a time. */
export class Credit {
  #left = windowCost;
  #waiting: { cost: number; resolve: () => void; reject: (error: Error) => void } | undefined;
  #over: Error | undefined;

  /** Resolves when `cost` has been taken; rejects when the pipe has ended. */
  take(cost: number): Promise<void> | undefined {
    if (this.#over) return Promise.reject(this.#over);
    if (this.#left >= cost) {
      this.#left -= cost;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { cost, resolve, reject };
    });
  }

  grant(cost: number): void {
    this.#left += cost;
    const waiting = this.#waiting;
    if (waiting === undefined || this.#left < waiting.cost) return;
    this.#left -= waiting.cost;
    this.#waiting = undefined;
    waiting.resolve();
  }

  end(why: Error): void {
    this.#over = why;
    this.#waiting?.reject(why);
    this.#waiting = undefined;
  }
}
