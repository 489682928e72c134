import { setTimeout as sleep } from 'node:timers/promises';
import { messages, type Bus } from '@roundsman/bus';
import { messageOf, type RunnerLog } from '../log.ts';
import { keyOf, roundOfKey } from '../round/key.ts';
import type { DoneList } from './done-list.ts';
import type { Spool, Spooled } from './spool.ts';

/** Milliseconds; the waits double from the first to the last. */
const timing = {
  /** From a publish to the question whether it is committed, and from question to question. */
  ask: [250, 30_000],
  /** From publish to publish while it is not committed: the stream may have been lost on the way. */
  republish: [15_000, 300_000],
  /** After a failed publish. */
  retry: [500, 15_000],
  /** The same while somebody waits for it to be over. */
  hurriedRetry: [250, 250],
} as const;
const askTogether = 500;

interface Course {
  /** For ever: not to be published. */
  publishAt: number;
  publishes: number;
  failures: number;
  askAt: number;
  asks: number;
  /** When it was heard not to be in Postgres any more. */
  recalledAt?: number;
}

const wait = ([first, last]: readonly [number, number], times: number): number => Math.min(last, first * 2 ** Math.min(times, 20)) * (0.9 + Math.random() * 0.2);

export interface SenderOptions {
  readonly bus: Bus;
  readonly spool: Spool;
  readonly done: DoneList;
  readonly runner: string;
  /** How long a result stays in the spool once it is in Postgres, milliseconds. */
  readonly keepMs: number;
  readonly log: RunnerLog;
}

/**
 * Brings every spooled result to the stream and keeps it until the reporter says that it is in Postgres, and says so again after a while: a standby of
 * Postgres that took over may not have it, and then it is published once more. Publishing twice does no harm: the stream knows the message id, the
 * reporter the round.
 */
export class Sender {
  readonly #bus: Bus;
  readonly #spool: Spool;
  readonly #done: DoneList;
  readonly #runner: string;
  readonly #keepMs: number;
  readonly #log: RunnerLog;
  readonly #course = new Map<string, Course>();
  #wake: () => void = () => undefined;
  #stopped = false;
  #hurried = false;
  #loop: Promise<void> = Promise.resolve();
  /** Resolves when all that was due has been tried. */
  #passed = Promise.withResolvers<void>();
  /** Results that were in Postgres and were not any more. */
  recalledRounds = 0;
  publishedParts = 0;
  committedRounds = 0;

  constructor(options: SenderOptions) {
    this.#bus = options.bus;
    this.#spool = options.spool;
    this.#done = options.done;
    this.#runner = options.runner;
    this.#keepMs = options.keepMs;
    this.#log = options.log;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#loop;
  }

  /** Resolves once the stream has all results, or when the time is up, with the number of those that it has not. */
  async flush(withinMs: number): Promise<number> {
    const end = Date.now() + withinMs;
    const left = (): Spooled[] => this.#spool.entries().filter((entry) => entry.committedAt === undefined && this.#courseOf(entry).publishes === 0);
    // What has failed and waits for long would not be tried again in time.
    this.#hurried = true;
    for (const entry of left()) this.#courseOf(entry).publishAt = 0;
    this.#wake();
    for (;;) {
      const passed = this.#passed.promise;
      const { length } = left();
      if (length === 0 || Date.now() >= end) return length;
      await Promise.race([passed, sleep(Math.max(0, end - Date.now()), undefined, { ref: false })]);
    }
  }

  /** There is something new in the spool, or (with a key) somebody waits for that result. */
  kick(key?: string): void {
    const course = key === undefined ? undefined : this.#course.get(key);
    if (course !== undefined) {
      course.askAt = 0;
      if (course.publishes > 0 && course.publishAt !== Number.POSITIVE_INFINITY) course.publishAt = Math.min(course.publishAt, Date.now() + 2_000);
    }
    this.#wake();
  }

  /** The server may have come back with an empty store: everything is published again. */
  reconnected(): void {
    for (const course of this.#course.values()) if (course.publishAt !== Number.POSITIVE_INFINITY) Object.assign(course, { publishAt: 0, failures: 0 });
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const entries = this.#spool.entries();
      this.#prune(entries);
      for (const entry of entries) {
        if (this.#stopped) return;
        if (this.#courseOf(entry).publishAt <= Date.now()) await this.#publish(entry);
      }
      await this.#askCommitted();
      this.#passed.resolve();
      this.#passed = Promise.withResolvers();
      await this.#sleep();
    }
  }

  #courseOf({ key, committedAt }: Pick<Spooled, 'key' | 'committedAt'>): Course {
    let course = this.#course.get(key);
    if (course === undefined) {
      const never = Number.POSITIVE_INFINITY;
      course = { publishAt: committedAt === undefined ? 0 : never, publishes: 0, failures: 0, askAt: committedAt === undefined ? never : committedAt + this.#keepMs, asks: 0 };
      this.#course.set(key, course);
    }
    return course;
  }

  #prune(entries: readonly Spooled[]): void {
    if (this.#course.size <= entries.length) return;
    const kept = new Set(entries.map(({ key }) => key));
    for (const key of this.#course.keys()) if (!kept.has(key)) this.#course.delete(key);
  }

  async #publish(entry: Spooled): Promise<void> {
    const { key, marker } = entry;
    const course = this.#courseOf(entry);
    try {
      for (const part of await this.#spool.read(key)) {
        const { kind, taskUid, round } = part;
        // The stream may still remember what it was given before the result was lost again.
        const again = course.recalledAt === undefined ? '' : `:${course.recalledAt}`;
        const msgId = `${taskUid}:${round}:${this.#runner}:${marker ? 'dropped' : part.part}${again}`;
        await this.#bus.append(messages.result, { runner: this.#runner, kind, taskUid, round }, part, { msgId });
        this.publishedParts += 1;
      }
      course.publishAt = Date.now() + wait(timing.republish, course.publishes);
      course.publishes += 1;
      course.failures = 0;
      course.asks = 0;
      course.askAt = Date.now() + wait(timing.ask, 0);
    } catch (error) {
      if (!this.#spool.has(key)) return;
      if (course.failures === 0) this.#log.warn({ round: key, error: messageOf(error) }, 'result not published; it stays in the spool and is tried again');
      course.publishAt = Date.now() + wait(this.#hurried ? timing.hurriedRetry : timing.retry, course.failures);
      course.failures += 1;
    }
  }

  async #askCommitted(): Promise<void> {
    const now = Date.now();
    const due = this.#spool.entries().filter((entry) => this.#courseOf(entry).askAt <= now);
    for (let i = 0; i < due.length && !this.#stopped; i += askTogether) {
      const some = due.slice(i, i + askTogether);
      const asked = some.map(({ key }) => key);
      for (const entry of some) {
        const course = this.#courseOf(entry);
        course.asks += 1;
        course.askAt = Date.now() + wait(timing.ask, course.asks);
      }
      let answered: string[];
      try {
        const { committed } = await this.#bus.request(messages.committed, { runner: this.#runner }, { rounds: some.map(({ key, createdAt }) => ({ ...roundOfKey(key), endedAt: new Date(createdAt).toISOString() })) });
        answered = committed.map(keyOf).filter((key) => asked.includes(key));
      } catch (error) {
        this.#log.debug({ error: messageOf(error), rounds: asked.length }, 'the reporter did not say what is committed; asked again later');
        return;
      }
      // A disk that cannot be written now may be later; the result stays and is asked for again.
      await this.#settle(some, new Set(answered)).catch((error: unknown) => this.#log.error({ error: messageOf(error) }, 'the spool could not be brought up to date with what is committed'));
    }
  }

  /** What was asked about, and which of it is committed. */
  async #settle(asked: readonly Spooled[], committed: ReadonlySet<string>): Promise<void> {
    // First the list, then the files: a crash in between costs a publish, not a round.
    await this.#done.add(asked.map(({ key }) => key).filter((key) => committed.has(key)));
    for (const entry of asked) {
      const { key, committedAt } = entry;
      const course = this.#courseOf(entry);
      if (!committed.has(key)) {
        if (committedAt === undefined) continue;
        this.#log.warn({ round: key }, 'the result is not in Postgres any more; it is sent again');
        this.recalledRounds += 1;
        await this.#spool.mark(key, undefined);
        Object.assign(course, { publishAt: 0, publishes: 0, askAt: Number.POSITIVE_INFINITY, recalledAt: Date.now() });
        continue;
      }
      const since = committedAt ?? Date.now();
      if (committedAt === undefined) this.committedRounds += 1;
      if (Date.now() >= since + this.#keepMs) await this.#spool.remove(key);
      else {
        if (committedAt === undefined) await this.#spool.mark(key, since);
        Object.assign(course, { publishAt: Number.POSITIVE_INFINITY, asks: 0, askAt: since + this.#keepMs });
      }
    }
  }

  async #sleep(): Promise<void> {
    let next = Number.POSITIVE_INFINITY;
    for (const entry of this.#spool.entries()) {
      const { publishAt, askAt } = this.#courseOf(entry);
      next = Math.min(next, publishAt, askAt);
    }
    const ms = Math.min(3_600_000, next - Date.now());
    if (ms <= 0 || this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => undefined;
  }
}
