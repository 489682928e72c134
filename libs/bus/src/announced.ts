import type { Subscription } from './bus.ts';
import type { BusLog } from './log.ts';

const listEveryMs = 10_000;
const retryAfterMs = 1_000;

export interface AnnouncedPage {
  /** Of the last announcement when the page was made. */
  readonly version: number;
  readonly next?: string | undefined;
}

/** Something that is announced change by change, each naming the one before it, and that can be asked for as a whole, in pages. */
export interface AnnouncedThing<A extends { readonly version: number }, P extends AnnouncedPage> {
  /** For the log: `the pods of this node`. */
  readonly what: string;
  subscribe(handle: (announcement: A) => void): Promise<Subscription>;
  /** Version of the announcement before this one. */
  previousOf(announcement: A): number;
  /** One page. `seen`: when nothing was announced since, the answer holds nothing (`holds`). `after`: `next` of the page before. */
  ask(question: { readonly seen?: number; readonly after?: string }): Promise<P>;
  holds(page: P): boolean;
  /** All there is: what is in none of the pages is gone. */
  all(pages: readonly P[]): void;
  /** One change, newer than the last; told perhaps once more after an `all` that held it already. */
  changed(announcement: A): void;
}

/** Follows an AnnouncedThing without missing anything: announcements as they come, the whole at the start, after a gap, and asked for every 10 s. */
export class Announced<A extends { readonly version: number }, P extends AnnouncedPage> {
  readonly #thing: AnnouncedThing<A, P>;
  readonly #log: Pick<BusLog, 'warn'>;
  #subscription: Subscription | undefined;
  /** Version of the last announcement that is taken into account; undefined before the first list. */
  #seen: number | undefined;
  /** What was announced while a list was under way: newer than it, perhaps. */
  #early: A[] = [];
  #listing: Promise<void> | undefined;
  #listAgain = false;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Why there was no list the last time; told once. */
  #problem: string | undefined;
  #stopped = false;

  constructor(thing: AnnouncedThing<A, P>, log: Pick<BusLog, 'warn'>) {
    this.#thing = thing;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#thing.subscribe((announcement) => this.#announced(announcement));
    this.#timer = setInterval(() => this.#list(), listEveryMs);
    this.#list();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    await this.#subscription?.stop();
    await this.#listing;
  }

  #announced(announcement: A): void {
    if (this.#listing !== undefined || this.#seen === undefined) {
      this.#early.push(announcement);
      if (this.#listing === undefined) this.#list();
      return;
    }
    if (announcement.version <= this.#seen) return;
    // What is announced is true in any case; the list brings what was missed.
    const gap = this.#thing.previousOf(announcement) !== this.#seen;
    if (!gap) this.#seen = announcement.version;
    this.#thing.changed(announcement);
    if (gap) this.#list();
  }

  #list(): void {
    if (this.#listing !== undefined) this.#listAgain = true;
    else this.#listing = this.#listOnce();
  }

  async #listOnce(): Promise<void> {
    let failed = false;
    try {
      const pages = await this.#ask();
      if (this.#thing.holds(pages[0])) this.#thing.all(pages);
      this.#seen = pages[0].version;
      this.#problem = undefined;
    } catch (error) {
      failed = true;
      const { message } = error as Error;
      if (!this.#stopped && message !== this.#problem) this.#log.warn({ err: error }, `${this.#thing.what} cannot be listed now; trying again`);
      this.#problem = message;
    }
    const early = this.#early.splice(0);
    this.#listing = undefined;
    if (this.#stopped) return;
    if (failed && this.#seen === undefined) this.#early.push(...early);
    // One of them may have been missed, too.
    else for (const announcement of early) this.#announced(announcement);
    if (failed) this.#listSoon();
    else if (this.#listAgain) {
      this.#listAgain = false;
      this.#list();
    }
  }

  /** One more time at a time, however often it failed. */
  #listSoon(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#list(), retryAfterMs).unref();
  }

  /** All pages; the version of the first counts: what happens until the last is announced meanwhile. */
  async #ask(): Promise<readonly [P, ...P[]]> {
    const seen = this.#seen === undefined ? {} : { seen: this.#seen };
    const pages: [P, ...P[]] = [await this.#thing.ask(seen)];
    if (!this.#thing.holds(pages[0])) return pages;
    for (let { next } = pages[0]; next !== undefined; ) {
      const page = await this.#thing.ask({ ...seen, after: next });
      pages.push(page);
      ({ next } = page);
    }
    return pages;
  }
}
