import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '@roundsman/api';
import { ClusterError, type Change, type ClusterResource, type Followed } from '../cluster.ts';
import type { Connection } from '../connection/connection.ts';
import { listAll } from '../list.ts';
import { objectPath } from '../paths.ts';
import { linesOf } from './lines.ts';
import { Mirror } from './mirror.ts';

export interface FollowTimes {
  /** The server is asked to end a watch after so long; it may do so any time before. */
  readonly watchSeconds: number;
  /** A watch on which nothing comes, not even a bookmark, is begun anew: a connection may be dead without saying so. Servers send a bookmark each minute. */
  readonly silentMs: number;
  /** First and longest pause before it is tried again. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** What is followed counts as current for so long after it was cut off. */
  readonly staleMs: number;
}
export const defaultFollowTimes: FollowTimes = { watchSeconds: 300, silentMs: 90_000, retryMs: 100, maxRetryMs: 5_000, staleMs: 5_000 };

export interface Log {
  warn(fields: object, message: string): void;
}

export interface FollowOptions {
  readonly connection: Connection;
  readonly resource: ClusterResource;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly times: FollowTimes;
  readonly log?: Log | undefined;
  readonly onStop?: () => void;
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

/** A stream that lasted so long was one, even if it said nothing. */
const lastingMs = 1_000;

/** List and watch, for ever: see `Followed`. */
export class Follow<T extends KubeObject> implements Followed<T> {
  readonly #options: FollowOptions;
  readonly #mirror: Mirror<T>;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #listed = false;
  /** Version of the last that was heard; undefined: all must be listed. */
  #version: string | undefined;
  /** Whose versions these are. */
  #server: string | undefined;
  #failing: { readonly sinceMs: number; readonly since: string; readonly why: string; readonly told: boolean } | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#mirror = new Mirror((error) => options.log?.warn({ err: error, resource: options.resource.plural }, 'a listener of followed objects failed'));
    // Who does not wait for it is not to hear of its end.
    this.#synced.promise.catch(() => undefined);
    void this.#run();
  }

  list(): T[] {
    return this.#mirror.list();
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#mirror.get(namespace, name);
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    return this.#mirror.onChange(listener);
  }

  synced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#synced.promise;
    const given = Promise.withResolvers<void>();
    const abort = (): void => given.reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return Promise.race([this.#synced.promise, given.promise]).finally(() => signal.removeEventListener('abort', abort));
  }

  problem(): string | undefined {
    const { resource, times } = this.#options;
    const failing = this.#failing;
    if (!this.#listed) return `${resource.plural} are not listed yet${failing === undefined ? '' : `: ${failing.why}`}`;
    if (failing === undefined) return undefined;
    // The same words for as long as it lasts: they stand in what others store.
    return performance.now() - failing.sinceMs < times.staleMs ? undefined : `${resource.plural} are as they were at ${failing.since}: ${failing.why}`;
  }

  stop(): void {
    this.#stop.abort(new Error(`${this.#options.resource.plural} are no longer followed`));
    this.#synced.reject(this.#stop.signal.reason);
    this.#options.onStop?.();
  }

  async #run(): Promise<void> {
    const { times } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; ) {
      try {
        this.#version ??= await this.#list();
        // That a stream ends is an everyday matter, unless it said nothing at all.
        failures = (await this.#watch(this.#version)) ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (isGone(error)) this.#version = undefined;
        this.#failed(error instanceof Error ? error.message : String(error));
      }
      // The first time at once: servers close watches when they are busy or restarted.
      if (failures > 1) await this.#pause(Math.min(times.maxRetryMs, times.retryMs * 2 ** (failures - 2)));
    }
  }

  /** Tells the differences to what is there; the version from which to follow. */
  async #list(): Promise<string> {
    const { connection, resource, namespace, labelSelector } = this.#options;
    const { items, version } = await listAll<T>(connection, resource, { namespace, labelSelector, signal: this.#stop.signal });
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
    this.#server = connection.server;
    this.#mirror.replace(items);
    this.#listed = true;
    this.#synced.resolve();
    return version;
  }

  /** Resolves when the stream has ended: whether it had anything to say, or at least lasted. Rejects when it could not be begun, or from there no more (410). */
  async #watch(since: string): Promise<boolean> {
    const { connection, resource, namespace, labelSelector, times } = this.#options;
    const silent = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, silent.signal]);
    const query = { watch: 1, allowWatchBookmarks: true, resourceVersion: since, timeoutSeconds: times.watchSeconds, labelSelector };
    const stream = await connection.stream({ method: 'GET', path: objectPath(resource, namespace), query, signal });
    if (this.#failing?.told === true) this.#options.log?.warn({ resource: resource.plural }, 'objects are followed again');
    this.#failing = undefined;
    if (connection.server !== this.#server) {
      // The kubeconfig names another server now: versions of the one say nothing to the other.
      this.#version = undefined;
      stream.destroy();
      return true;
    }
    const beganMs = performance.now();
    const timer = setTimeout(() => silent.abort(), times.silentMs);
    let told = false;
    try {
      for await (const line of linesOf(stream)) {
        if (this.#stop.signal.aborted) break;
        timer.refresh();
        told = true;
        this.#take(JSON.parse(line) as WatchEvent<T>);
      }
    } catch (error) {
      // A stream that breaks has ended, no more.
      if (error instanceof ClusterError || error instanceof SyntaxError) throw error;
    } finally {
      clearTimeout(timer);
      stream.destroy();
    }
    return told || performance.now() - beganMs > lastingMs;
  }

  #take({ type, object }: WatchEvent<T>): void {
    if (type === 'ERROR') {
      const { message = 'the server ended the watch', code = 0, reason } = object as unknown as { message?: string; code?: number; reason?: string };
      // Whatever it is, from here it does not go on.
      this.#version = undefined;
      throw new ClusterError(message, code, reason);
    }
    this.#version = object.metadata.resourceVersion;
    if (type === 'DELETED') this.#mirror.remove(object);
    else if (type !== 'BOOKMARK') this.#mirror.put(object);
  }

  /** What lasts is said once. */
  #failed(why: string): void {
    const { log, resource, times } = this.#options;
    const { sinceMs = performance.now(), since = `${new Date().toISOString().slice(0, 19)}Z`, told = false } = this.#failing ?? {};
    const tell = performance.now() - sinceMs >= times.staleMs;
    if (tell && !told) log?.warn({ resource: resource.plural, problem: why }, 'cannot follow objects; trying on');
    this.#failing = { sinceMs, since, why, told: told || tell };
  }

  /** With jitter: many who lost one server do not come back at once. */
  #pause(ms: number): Promise<void> {
    return sleep(ms * (0.5 + Math.random()), undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}

/** The version is too old, or of another history (the server's store was put back). */
const isGone = (error: unknown): boolean => error instanceof ClusterError && error.code === 410;
