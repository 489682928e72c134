import type { Pod } from '@roundsman/api';
import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { z } from 'zod';

const listEveryMs = 10_000;
const retryAfterMs = 1_000;

type Announcement = z.output<(typeof messages.nodePod)['schema']>;

export interface PodChanges {
  /** All pods of this node: whatever is not among them is gone. */
  all(pods: readonly Pod[]): void;
  changed(pod: Pod): void;
  gone(pod: Pod): void;
}

/** Follows the pods bound to one node: announcements as they come, all of them at the start, after a gap, and asked for every 10 s. */
export class PodSource {
  readonly #bus: Bus;
  readonly #node: string;
  readonly #log: Logger;
  readonly #changes: PodChanges;
  #subscription: Subscription | undefined;
  /** Version of the last announcement that is taken into account; undefined before the first list. */
  #seen: number | undefined;
  /** What was announced while a list was under way: newer than it, perhaps. */
  #early: Announcement[] = [];
  #listing: Promise<void> | undefined;
  #listAgain = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(bus: Bus, node: string, log: Logger, changes: PodChanges) {
    this.#bus = bus;
    this.#node = node;
    this.#log = log;
    this.#changes = changes;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#bus.subscribe(messages.nodePod, { node: this.#node }, ({ payload }) => this.#announced(payload));
    this.#timer = setInterval(() => this.#list(), listEveryMs);
    this.#list();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#subscription?.stop();
    await this.#listing;
  }

  #announced(announcement: Announcement): void {
    const { type, version, previousOfNode, object } = announcement;
    if (this.#listing !== undefined || this.#seen === undefined) {
      this.#early.push(announcement);
      if (this.#listing === undefined) this.#list();
      return;
    }
    if (version <= this.#seen) return;
    // What is announced is true in any case; the list brings what was missed.
    const gap = previousOfNode !== this.#seen;
    if (!gap) this.#seen = version;
    const pod = object as unknown as Pod;
    if (type === 'DELETED') this.#changes.gone(pod);
    else this.#changes.changed(pod);
    if (gap) this.#list();
  }

  #list(): void {
    if (this.#listing !== undefined) this.#listAgain = true;
    else this.#listing = this.#listOnce();
  }

  async #listOnce(): Promise<void> {
    let failed = false;
    try {
      const { version, pods } = await this.#ask();
      if (pods !== undefined) this.#changes.all(pods);
      this.#seen = version;
    } catch (error) {
      failed = true;
      if (!this.#stopped) this.#log.warn({ err: error }, 'the pods of this node cannot be listed now; trying again');
    }
    const early = this.#early.splice(0);
    this.#listing = undefined;
    if (this.#stopped) return;
    if (failed && this.#seen === undefined) this.#early.push(...early);
    // One of them may have been missed, too.
    else for (const announcement of early) this.#announced(announcement);
    if (failed) setTimeout(() => this.#list(), retryAfterMs).unref();
    else if (this.#listAgain) {
      this.#listAgain = false;
      this.#list();
    }
  }

  /** All pages, with the version of the first: what happens until the last is announced meanwhile. */
  async #ask(): Promise<{ version: number; pods?: Pod[] }> {
    const seen = this.#seen;
    const ask = (after?: string) => this.#bus.request(messages.nodePods, { node: this.#node }, { ...(seen === undefined ? {} : { seen }), ...(after === undefined ? {} : { after }) });
    let page = await ask();
    const { version } = page;
    if (page.pods === undefined) return { version };
    const pods = [...page.pods];
    while (page.next !== undefined) {
      page = await ask(page.next);
      pods.push(...(page.pods ?? []));
    }
    return { version, pods: pods as unknown as Pod[] };
  }
}
