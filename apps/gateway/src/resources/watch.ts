import type { ServerResponse } from 'node:http';
import { ApiError, apiVersionOf, type KubeObject } from '@roundsman/api';
import type { WatchOptions } from '../http/query.ts';
import { drained } from '../streams/drained.ts';
import { isFixed, selects, type Selection } from './list.ts';
import type { EventSource, ObjectEvent, Served } from './reader.ts';
import { tableOf, type TableOptions } from './table.ts';

export interface WatchLimits {
  /** Bytes waiting for a slow client; more, and it is cut off (it lists again). */
  readonly maxBuffered: number;
  readonly bookmarkMs: number;
  /** Longest watch; clients come again. */
  readonly maxSeconds: number;
  /** Milliseconds between two packets: what comes meanwhile waits for the next. The first after a pause goes at once. */
  readonly packetMs: number;
}
export const defaultWatchLimits: WatchLimits = { maxBuffered: 8 << 20, bookmarkMs: 60_000, maxSeconds: 3600, packetMs: 10 };

export interface WatchRequest extends WatchOptions {
  readonly served: Served;
  readonly selection: Selection;
  /** Undefined or 0: begin with an ADDED for each object there is. */
  readonly resourceVersion: number | undefined;
  readonly table: TableOptions | undefined;
}

/** Plain events of the same change read the same for every watcher: put into bytes once. */
const encoded = new WeakMap<KubeObject, Map<string, Buffer>>();

/**
 * One `?watch=true` response: a line of JSON per event, in version order, each change once. Ends at its timeout, when the
 * client goes, or when it reads too slowly; a hole that cannot be filled ends it with an ERROR event of code 410.
 */
export class Watch {
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #limits: WatchLimits;
  /** UIDs the client knows; only kept when an object may leave the selection. */
  readonly #known: Set<string> | undefined;
  /** Below this version it is not known whether an object was selected before. */
  #knownFrom = 0;
  #source: EventSource | undefined;
  #timers: NodeJS.Timeout[] = [];
  #definitions = true;
  #ended = false;
  /** When the last packet left. */
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(request: WatchRequest, response: ServerResponse, limits: WatchLimits = defaultWatchLimits) {
    this.#request = request;
    this.#response = response;
    this.#limits = limits;
    this.#known = isFixed(request.selection) ? undefined : new Set();
  }

  /** Resolves when events flow; the watch then lives until its response closes. Rejects before anything was sent. */
  async start(): Promise<void> {
    const { served, resourceVersion, initialEvents, timeoutSeconds } = this.#request;
    const { follow } = served.reader;
    if (!follow) throw new ApiError('MethodNotAllowed', `${served.kind.plural} cannot be watched`);
    const fresh = initialEvents ?? (resourceVersion === undefined || resourceVersion === 0);
    const present = fresh || this.#known ? await this.#selected() : undefined;
    if (this.#response.destroyed) return;
    this.#response.on('close', () => this.end());
    this.#response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    this.#response.flushHeaders();
    for (const [i, object] of (present?.items ?? []).entries()) {
      this.#known?.add(object.metadata.uid);
      if (!fresh) continue;
      this.#send('ADDED', object);
      // A big collection goes out at the pace of its reader.
      if (i % 64 === 63) await this.#drained();
    }
    if (this.#ended) return;
    this.#knownFrom = present?.version ?? 0;
    const since = fresh ? (present?.version ?? 0) : (resourceVersion as number);
    if (fresh && initialEvents) this.#bookmark(since, { 'k8s.io/initial-events-end': 'true' });
    const seconds = Math.min(timeoutSeconds ?? this.#limits.maxSeconds, this.#limits.maxSeconds);
    this.#timers.push(setTimeout(() => this.#finish(), seconds * 1000));
    if (this.#request.bookmarks) this.#timers.push(setInterval(() => this.#bookmark(), this.#limits.bookmarkMs));
    this.#source = follow.call(served.reader, this.#request.selection.namespace, since, {
      event: (event) => this.#event(event),
      expired: (reason) => this.#expired(reason),
      ready: () => this.#drained(),
    });
    if (this.#ended) this.#source.stop();
  }

  end(): void {
    this.#ended = true;
    this.#source?.stop();
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    if (!this.#response.writableEnded) this.#response.end();
  }

  async #selected(): Promise<{ version: number; items: KubeObject[] }> {
    const { served, selection } = this.#request;
    const items: KubeObject[] = [];
    let page = await served.reader.page({ ...selection, limit: 1000, continue: undefined });
    const { version } = page;
    items.push(...page.items);
    while (page.continue !== undefined) {
      page = await served.reader.page({ ...selection, limit: 1000, continue: page.continue });
      items.push(...page.items);
    }
    // Later pages may hold objects newer than the version: their events come again, which a watcher must bear anyway.
    return { version, items };
  }

  #event({ type, version, object }: ObjectEvent): void {
    if (this.#ended) return;
    const selected = selects(this.#request.selection, object);
    if (this.#known === undefined) {
      if (selected) this.#send(type, object);
      return;
    }
    const { uid } = object.metadata;
    const before = this.#known.has(uid) || (version <= this.#knownFrom && type !== 'ADDED');
    if (selected && type !== 'DELETED') this.#known.add(uid);
    else this.#known.delete(uid);
    if (type === 'DELETED') {
      if (before || selected) this.#send('DELETED', object);
    } else if (selected) this.#send(before ? 'MODIFIED' : 'ADDED', object);
    // It has left the selection: for this client it is gone.
    else if (before) this.#send('DELETED', object);
  }

  #send(type: ObjectEvent['type'], object: KubeObject): void {
    const { table, served } = this.#request;
    if (table) {
      const shown = tableOf(served.kind, [object], { resourceVersion: object.metadata.resourceVersion }, { ...table, now: Date.now(), definitions: this.#definitions });
      this.#definitions = false;
      this.#write(`${JSON.stringify({ type, object: shown })}\n`);
      return;
    }
    let lines = encoded.get(object);
    if (!lines) encoded.set(object, (lines = new Map()));
    let line = lines.get(type);
    if (line === undefined) lines.set(type, (line = Buffer.from(`${JSON.stringify({ type, object })}\n`)));
    this.#write(line);
  }

  #bookmark(version: number | undefined = this.#source?.position, annotations?: Record<string, string>): void {
    if (version === undefined || this.#request.table) return;
    const { kind } = this.#request.served;
    const metadata = { resourceVersion: String(version), creationTimestamp: null, ...(annotations ? { annotations } : {}) };
    this.#write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata } })}\n`);
  }

  #write(line: string | Buffer): void {
    if (this.#ended || this.#response.destroyed) return;
    // With many watches and many changes most of the work would be system calls.
    if (this.#response.writableCorked === 0) {
      this.#response.cork();
      const wait = this.#sentAt + this.#limits.packetMs - performance.now();
      if (wait > 0) setTimeout(() => this.#flush(), wait);
      else setImmediate(() => this.#flush());
    }
    this.#response.write(line);
    if (this.#response.writableLength > this.#limits.maxBuffered) {
      this.#ended = true;
      this.#response.destroy();
    }
  }

  #flush(): void {
    this.#sentAt = performance.now();
    this.#response.uncork();
  }

  async #drained(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (!this.#ended) await drained(this.#response);
  }

  #expired(reason: string): void {
    this.#write(`${JSON.stringify({ type: 'ERROR', object: new ApiError('Expired', `too old resource version: ${reason}`).status })}\n`);
    this.end();
  }

  #finish(): void {
    if (this.#request.bookmarks) this.#bookmark();
    this.end();
  }
}
