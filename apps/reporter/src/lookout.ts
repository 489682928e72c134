/** When to look again. */
export interface Next {
  readonly afterMs: number;
  /** Something fails: a kick that came while it was looking does not hurry it. */
  readonly failing?: boolean;
}

/** Looks when it is kicked and after the time the last look answered, never twice at once. `look` does not reject. */
export class Lookout {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(private readonly look: () => Promise<Next>) {}

  get stopped(): boolean {
    return this.#stopped;
  }

  kick(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.look().then(({ afterMs, failing = false }) => {
      this.#running = undefined;
      const now = this.#again && !failing;
      this.#again = false;
      if (now) this.kick();
      else if (!this.#stopped) this.#timer = setTimeout(() => this.kick(), afterMs);
    });
  }

  /** Resolves when the look that is under way is done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
