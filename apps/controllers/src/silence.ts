/** How often it is looked whether anything can be heard. */
const tickMs = 1_000;
/** A process that was held up for so long has not listened meanwhile. */
const stallMs = 3_000;

/** Milliseconds of a clock that is never put back or forward, and stands still while the machine sleeps. */
const now = (): number => performance.now();

/** How long senders of heartbeats have been silent, as far as that says something about them: not while nothing could be heard here. */
export class Silence {
  readonly #canHear: () => boolean;
  readonly #heard = new Map<string, number>();
  #listeningSince = now();
  #lookedAt = now();
  #timer: NodeJS.Timeout | undefined;

  constructor(canHear: () => boolean) {
    this.#canHear = canHear;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), tickMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  heard(name: string): void {
    this.#heard.set(name, now());
  }

  /** Nobody asks about it any more. */
  forget(name: string): void {
    this.#heard.delete(name);
  }

  /** Milliseconds. Nobody is silent who had no chance to be heard. */
  of(name: string): number {
    this.#look();
    return now() - Math.max(this.#heard.get(name) ?? -Infinity, this.#listeningSince);
  }

  #look(): void {
    const at = now();
    if (at - this.#lookedAt > stallMs || !this.#canHear()) this.#listeningSince = at;
    this.#lookedAt = at;
  }
}
