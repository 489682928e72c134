const firstMs = 1_000;
const longestMs = 15 * 60_000;

/** How long a failed pod of a node stays before it is replaced: 1 s after one that was replaced, doubled each time, 15 min at most. Forgotten when it went well for as long. */
export class FailedPods {
  readonly #replaced = new Map<string, { atMs: number; delayMs: number }>();

  /** Milliseconds until the failed pod of this key may be replaced; 0: now. */
  waitMs(key: string, nowMs: number): number {
    const last = this.#replaced.get(key);
    return last === undefined ? 0 : Math.max(0, last.atMs + last.delayMs - nowMs);
  }

  replaced(key: string, nowMs: number): void {
    const last = this.#replaced.get(key);
    const fresh = last === undefined || nowMs - last.atMs > 2 * longestMs;
    this.#replaced.delete(key);
    this.#replaced.set(key, { atMs: nowMs, delayMs: fresh ? firstMs : Math.min(longestMs, last.delayMs * 2) });
    for (const [old, { atMs }] of this.#replaced) {
      if (nowMs - atMs <= 2 * longestMs) break;
      this.#replaced.delete(old);
    }
  }
}
