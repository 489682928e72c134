import type { KubeObject } from '@roundsman/api';
import type { Bus } from '@roundsman/bus';
import { ChangeFeed } from './feed.ts';
import { Informer, type Indexes } from './informer.ts';
import { LeaderGate, type LeaderGateOptions } from './leader.ts';
import type { ObjectSource } from './source.ts';

export interface ReplicaOptions extends Pick<LeaderGateOptions, 'acquire' | 'begin' | 'log'> {
  /** Of the health check: `scheduler/caches`. */
  readonly name: string;
  readonly bus: Bus;
  /** Closed by `stop`. */
  readonly source: ObjectSource & { close(): Promise<void> };
  readonly health: { add(check: { name: string; problem: () => string | undefined }): void; remove(name: string): void };
}

/** One instance of a service of which several may run: every one keeps its caches, so that it can take over at once; one leads. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #feed: ChangeFeed;
  readonly #gate: LeaderGate;
  readonly #informers: { start(): Promise<void>; stop(): Promise<void>; problem(): string | undefined; readonly position: number }[] = [];
  #started: Promise<void> | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    const { bus, source, log, acquire, begin } = options;
    this.#feed = new ChangeFeed({ bus, source, log });
    this.#gate = new LeaderGate({ acquire, begin, log });
  }

  /** A cache that lives as long as this. Only before `start`. */
  informer<T extends KubeObject>(resource: string, labels: string[] = [], indexes: Indexes<T> = {}): Informer<T> {
    const { source, log } = this.#options;
    const informer = new Informer<T>({ source, feed: this.#feed, resource, labels, indexes, log });
    this.#informers.push(informer);
    return informer;
  }

  /** Resolves once the caches hold every change up to this version; rejects when they do not within 10 s, or when the term is over. A new leader asks before it trusts what it sees. */
  async reached(version: number, over: AbortSignal): Promise<void> {
    this.#feed.expect(version);
    const until = Date.now() + 10_000;
    while (this.#informers.some(({ position }) => position < version)) {
      if (Date.now() > until) throw new Error(`the caches did not reach version ${version} within 10 s${this.problem() === undefined ? '' : `: ${this.problem()}`}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
      over.throwIfAborted();
    }
  }

  get leading(): boolean {
    return this.#gate.leading;
  }

  /** For readiness: why the caches are not current. */
  problem(): string | undefined {
    const problem = this.#feed.problem();
    if (problem !== undefined) return problem;
    for (const informer of this.#informers) {
      const one = informer.problem();
      if (one !== undefined) return one;
    }
    return undefined;
  }

  /** Resolves once changes are heard. The caches are not waited for: the database may still be coming up, and readiness says so. */
  async start(): Promise<void> {
    this.#options.health.add({ name: this.#options.name, problem: () => this.problem() });
    await this.#feed.start();
    this.#started = Promise.all(this.#informers.map((informer) => informer.start())).then(() => this.#gate.start());
  }

  /** Resolves when the work has ended, the lock is free and the source is closed. The work ends before its caches do. */
  async stop(): Promise<void> {
    this.#options.health.remove(this.#options.name);
    await this.#gate.stop();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
    await this.#started;
    await this.#feed.stop();
    await this.#options.source.close();
  }
}
