import { messages, type Bus, type Change, type Subscription } from '@roundsman/bus';
import { Expired, type ObjectSource } from './source.ts';

/** Who wants changes. It is called synchronously and must not throw; what takes time it queues itself. */
export interface Follower {
  /** Only this resource; all when absent (or all of a filtered feed). */
  readonly resource?: string;
  /** Changes after this version, exclusive: the version of the list it has read. */
  readonly since: number;
  /** Each change once, in version order. */
  readonly change: (change: Change) => void;
  /** Changes were lost for good. Nothing more will come: list again, then follow from there. */
  readonly relist: (reason: string) => void;
  /** Awaited between pages of history while it catches up, so that a slow one is not flooded. */
  readonly ready?: () => Promise<void>;
}

export interface Following {
  /** Every change up to this version (of its resource) has been handed over. */
  readonly position: number;
  stop(): void;
}

export interface FeedOptions {
  readonly bus: Bus;
  readonly source: ObjectSource;
  /** Feed of one resource: subscribes to that one only. */
  readonly resource?: string;
  readonly log?: { warn(fields: object, message: string): void };
  /** Recent changes kept in memory, so that a follower that is a little behind costs no read. */
  readonly keep?: number;
  /** Milliseconds between looks at the source when nothing seems wrong: bounds how late a change can be when messages and beacons are all lost. */
  readonly auditMs?: number;
}

interface State {
  readonly follower: Follower;
  cursor: number;
  live: boolean;
  stopped: boolean;
}

const pageSize = 500;
const maxHeld = 4096;

/**
 * All changes of the objects, once and in order, from messages that may be lost, repeated or late. Messages carry the version
 * of the change before them; whoever sees a hole reads it from the source. Followers start anywhere in kept history.
 */
export class ChangeFeed {
  readonly #options: FeedOptions;
  readonly #followers = new Set<State>();
  readonly #recent: Change[] = [];
  /** Changes after this version are all in `#recent`. */
  #recentFrom = 0;
  /** Everything up to here has been handed to the live followers; undefined until the first message or follower. */
  #position: number | undefined;
  /** Known to exist, maybe not seen yet. */
  #target = 0;
  #held: Change[] = [];
  /** While true, arriving messages are held back. Cleared in the same step as the last delivery, so none is forgotten. */
  #catching = false;
  #caughtUp: Promise<void> = Promise.resolve();
  #failure: string | undefined;
  #subscriptions: Subscription[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #stop = new AbortController();
  /** Counted since start: holes read from the source, and messages that came twice. */
  readonly counts = { gaps: 0, duplicates: 0, relists: 0 };

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus, resource } = this.#options;
    this.#subscriptions = [
      await bus.subscribe(messages.change, resource === undefined ? {} : { resource }, ({ payload }) => this.#receive(payload)),
      await bus.subscribe(messages.changeHead, {}, ({ payload }) => this.expect(resource === undefined ? payload.version : (payload.ofResource[resource] ?? 0))),
    ];
    const tickMs = 1000;
    let connected = true;
    let sinceAudit = 0;
    this.#timer = setInterval(() => {
      const before = connected;
      connected = bus.health().connected;
      sinceAudit += tickMs;
      // What was published while we were away is gone, and nothing later may come to show the hole.
      if ((!before && connected) || sinceAudit >= (this.#options.auditMs ?? 10_000)) {
        sinceAudit = 0;
        this.#audit();
      }
    }, tickMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    this.#followers.clear();
    await Promise.all(this.#subscriptions.map((subscription) => subscription.stop()));
    await this.#caughtUp;
  }

  /** For readiness: what keeps the feed from being current, if anything. */
  problem(): string | undefined {
    return this.#failure;
  }

  /** Starts handing over; the first call may come before this returns. */
  follow(follower: Follower): Following {
    const state: State = { follower, cursor: follower.since, live: false, stopped: false };
    this.#followers.add(state);
    if (!this.#join(state)) void this.#replay(state);
    const position = (): number => (state.live ? Math.max(state.cursor, this.#position ?? 0) : state.cursor);
    return {
      get position() {
        return position();
      },
      stop: () => {
        state.stopped = true;
        this.#followers.delete(state);
      },
    };
  }

  #receive(change: Change): void {
    this.#position ??= this.#reset(change.version - 1);
    if (change.version <= this.#position) {
      this.counts.duplicates += 1;
      return;
    }
    this.#target = Math.max(this.#target, change.version);
    if (change.withheld === true) {
      this.#catchUp();
      return;
    }
    if (!this.#catching && this.#follows(change, this.#position)) {
      this.#deliver(change);
      return;
    }
    if (this.#held.length < maxHeld) this.#held.push(change);
    if (!this.#catching) {
      this.counts.gaps += 1;
      this.#catchUp();
    }
  }

  /** Nothing of ours lies between `position` and this change. */
  #follows(change: Change, position: number): boolean {
    if (change.previous <= position) return true;
    // 0 means that intake does not know: it has just started.
    return this.#options.resource !== undefined && change.previousOfResource > 0 && change.previousOfResource <= position;
  }

  /** This version (of the resource of a feed of one) exists: what is missing up to it is read. */
  expect(version: number): void {
    this.#target = Math.max(this.#target, version);
    if (this.#position === undefined || version <= this.#position || this.#catching) return;
    this.counts.gaps += 1;
    this.#catchUp();
  }

  #audit(): void {
    if (this.#position !== undefined && this.#followers.size > 0) this.#catchUp();
  }

  #deliver(change: Change): void {
    this.#position = change.version;
    this.#recent.push(change);
    if (this.#recent.length > (this.#options.keep ?? 1024)) this.#recentFrom = (this.#recent.shift() as Change).version;
    for (const state of this.#followers) if (state.live) this.#hand(state, change);
  }

  #hand(state: State, change: Change): void {
    if (state.stopped || change.version <= state.cursor) return;
    state.cursor = change.version;
    const { resource } = state.follower;
    if (resource === undefined || resource === change.resource) state.follower.change(change);
  }

  #reset(position: number): number {
    this.#recent.length = 0;
    this.#recentFrom = position;
    this.#position = position;
    return position;
  }

  /** Makes a follower live when memory holds all it has not seen. */
  #join(state: State): boolean {
    if (this.#position === undefined || state.cursor < this.#recentFrom || state.cursor > this.#position) return false;
    for (const change of this.#recent) this.#hand(state, change);
    state.live = true;
    return true;
  }

  /** Reads a follower's history from the source until it can join the others. */
  async #replay(state: State): Promise<void> {
    const gone = (): boolean => state.stopped || this.#stop.signal.aborted;
    const resource = state.follower.resource ?? this.#options.resource;
    for (let failures = 0; !gone(); ) {
      try {
        const page = await this.#options.source.changes(state.cursor, { ...(resource === undefined ? {} : { resource }), limit: pageSize });
        failures = 0;
        this.#failure = undefined;
        if (gone()) return;
        if (page.head < state.cursor) return this.#lose(state, `version ${state.cursor} is newer than the newest, ${page.head}`);
        for (const change of page.changes) this.#hand(state, change);
        if (!page.more) {
          state.cursor = Math.max(state.cursor, page.head);
          this.#position ??= this.#reset(page.head);
          if (state.cursor > this.#position) {
            // The source was ahead of the messages: they will come, or the hole will be seen.
            state.live = true;
            this.expect(state.cursor);
            return;
          }
        }
        if (this.#join(state)) return;
        await state.follower.ready?.();
      } catch (error) {
        if (error instanceof Expired) return this.#lose(state, error.message);
        failures += 1;
        await this.#failed('reading history for a watcher', error, failures);
      }
    }
  }

  #catchUp(): void {
    if (this.#catching) return;
    this.#catching = true;
    this.#caughtUp = this.#catch();
  }

  async #catch(): Promise<void> {
    const { source, resource } = this.#options;
    for (let failures = 0; !this.#stop.signal.aborted && this.#catching; ) {
      const position = this.#position ?? 0;
      try {
        const page = await source.changes(position, { ...(resource === undefined ? {} : { resource }), limit: pageSize });
        failures = 0;
        this.#failure = undefined;
        if (this.#stop.signal.aborted) return;
        if (page.head < position) return this.#loseAll(`the newest version is ${page.head}, but ${position} was seen: the database was replaced`);
        for (const change of page.changes) this.#deliver(change);
        if (page.more) continue;
        this.#position = Math.max(this.#position ?? 0, page.head);
        const held = this.#held.sort((a, b) => a.version - b.version);
        this.#held = [];
        for (const change of held) {
          if (change.version <= this.#position) continue;
          if (this.#follows(change, this.#position)) this.#deliver(change);
          else this.#held.push(change);
        }
        if (this.#held.length === 0 && (this.#position >= this.#target || page.changes.length === 0)) {
          this.#target = this.#position;
          this.#catching = false;
          return;
        }
        if (page.changes.length === 0) throw new Error(`change ${this.#held[0]?.version} was announced, but the source ends at ${page.head}`);
      } catch (error) {
        if (error instanceof Expired) return this.#loseAll(error.message);
        failures += 1;
        await this.#failed('reading missed changes', error, failures);
      }
    }
  }

  async #failed(doing: string, error: unknown, failures: number): Promise<void> {
    this.#failure = `${doing}: ${error instanceof Error ? error.message : String(error)}`;
    this.#options.log?.warn({ err: error, failures }, 'change feed cannot read changes; trying again');
    const delay = Math.min(5000, 50 * 2 ** failures);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.#stop.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }

  #lose(state: State, reason: string): void {
    this.counts.relists += 1;
    state.stopped = true;
    this.#followers.delete(state);
    state.follower.relist(reason);
  }

  #loseAll(reason: string): void {
    this.#catching = false;
    this.#position = undefined;
    this.#held = [];
    this.#target = 0;
    // Those that still read their own history find out there.
    for (const state of this.#followers) if (state.live) this.#lose(state, reason);
  }
}
