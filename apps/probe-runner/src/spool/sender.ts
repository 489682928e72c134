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
} as const;
const askTogether = 500;

interface Course {
  publishAt: number;
  publishes: number;
  failures: number;
  askAt: number;
  asks: number;
}

const wait = ([first, last]: readonly [number, number], times: number): number => Math.min(last, first * 2 ** Math.min(times, 20)) * (0.9 + Math.random() * 0.2);

/**
 * Brings every spooled result to the stream and keeps it until the reporter says that it is in Postgres. Publishing twice does
 * no harm: the stream knows the message id, the reporter the round.
 */
export class Sender {
  readonly #bus: Bus;
  readonly #spool: Spool;
  readonly #done: DoneList;
  readonly #runner: string;
  readonly #log: RunnerLog;
  readonly #course = new Map<string, Course>();
  #wake: () => void = () => undefined;
  #stopped = false;
  #loop: Promise<void> = Promise.resolve();
  publishedParts = 0;
  committedRounds = 0;

  constructor(options: { bus: Bus; spool: Spool; done: DoneList; runner: string; log: RunnerLog }) {
    this.#bus = options.bus;
    this.#spool = options.spool;
    this.#done = options.done;
    this.#runner = options.runner;
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

  /** There is something new in the spool, or (with a key) somebody waits for that result. */
  kick(key?: string): void {
    const course = key === undefined ? undefined : this.#course.get(key);
    if (course !== undefined) {
      course.askAt = 0;
      if (course.publishes > 0) course.publishAt = Math.min(course.publishAt, Date.now() + 2_000);
    }
    this.#wake();
  }

  /** The server may have come back with an empty store: everything is published again. */
  reconnected(): void {
    for (const course of this.#course.values()) Object.assign(course, { publishAt: 0, failures: 0 });
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const entries = this.#spool.entries();
      this.#prune(entries);
      for (const entry of entries) {
        if (this.#stopped) return;
        if (this.#courseOf(entry.key).publishAt <= Date.now()) await this.#publish(entry);
      }
      await this.#askCommitted();
      await this.#sleep();
    }
  }

  #courseOf(key: string): Course {
    let course = this.#course.get(key);
    if (course === undefined) {
      course = { publishAt: 0, publishes: 0, failures: 0, askAt: Number.POSITIVE_INFINITY, asks: 0 };
      this.#course.set(key, course);
    }
    return course;
  }

  #prune(entries: readonly Spooled[]): void {
    if (this.#course.size <= entries.length) return;
    const kept = new Set(entries.map(({ key }) => key));
    for (const key of this.#course.keys()) if (!kept.has(key)) this.#course.delete(key);
  }

  async #publish({ key, marker }: Spooled): Promise<void> {
    const course = this.#courseOf(key);
    try {
      for (const part of await this.#spool.read(key)) {
        const { kind, taskUid, round } = part;
        const msgId = `${taskUid}:${round}:${this.#runner}:${marker ? 'dropped' : part.part}`;
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
      course.publishAt = Date.now() + wait(timing.retry, course.failures);
      course.failures += 1;
    }
  }

  async #askCommitted(): Promise<void> {
    const now = Date.now();
    const due = this.#spool.entries().filter(({ key }) => this.#courseOf(key).askAt <= now);
    for (let i = 0; i < due.length && !this.#stopped; i += askTogether) {
      const some = due.slice(i, i + askTogether);
      const asked = some.map(({ key }) => key);
      for (const key of asked) {
        const course = this.#courseOf(key);
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
      await this.#settle(answered).catch((error: unknown) => this.#log.error({ error: messageOf(error) }, 'committed results could not be removed from the spool'));
    }
  }

  async #settle(keys: readonly string[]): Promise<void> {
    // First the list, then the file: a crash in between costs a publish, not a round.
    await this.#done.add(keys);
    for (const key of keys) {
      await this.#spool.remove(key);
      this.committedRounds += 1;
    }
  }

  async #sleep(): Promise<void> {
    let next = Number.POSITIVE_INFINITY;
    for (const { key } of this.#spool.entries()) {
      const { publishAt, askAt } = this.#courseOf(key);
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
