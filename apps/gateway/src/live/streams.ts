import type { ServerResponse } from 'node:http';
import { ApiError } from '@roundsman/api';
import { messages, type Bus, type Subscription } from '@roundsman/bus';
import { LiveRing, type LiveEvent } from './ring.ts';

export interface LiveLimits {
  readonly maxClients: number;
  /** Bytes waiting for a slow client; more, and it is cut off (it comes again with Last-Event-ID). */
  readonly maxBuffered: number;
  readonly heartbeatMs: number;
}
export const defaultLiveLimits: LiveLimits = { maxClients: 200, maxBuffered: 1 << 20, heartbeatMs: 15_000 };

interface Client {
  readonly response: ServerResponse;
  readonly task: string | undefined;
}

/** The task an event is about, as `live` paths and report messages name it. */
export const taskKey = (kind: string, namespace: string, task: string): string => `${kind.toLowerCase()}/${namespace}/${task}`;

/** Server-sent events: `sample` while a round runs, `report` when it closes. One subscription serves all clients. */
export class LiveStreams {
  readonly #bus: Bus;
  readonly #limits: LiveLimits;
  readonly #ring: LiveRing;
  readonly #clients = new Set<Client>();
  #subscription: Subscription | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(bus: Bus, limits: LiveLimits = defaultLiveLimits, ring = new LiveRing(Date.now().toString(36))) {
    this.#bus = bus;
    this.#limits = limits;
    this.#ring = ring;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#bus.subscribe(messages.live, {}, ({ payload }) => this.#tell('sample', payload));
    this.#heartbeat = setInterval(() => {
      for (const client of this.#clients) this.#write(client, ': still here\n\n');
    }, this.#limits.heartbeatMs);
    this.#heartbeat.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#heartbeat);
    for (const { response } of this.#clients) response.end();
    this.#clients.clear();
    await this.#subscription?.stop();
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Opens a stream of one task or of all; begins with what is kept after `lastEventId`, without one with what comes next. Throws a 429 when too many are open. */
  open(response: ServerResponse, task: string | undefined, lastEventId: string | undefined): void {
    if (this.#clients.size >= this.#limits.maxClients) throw new ApiError('TooManyRequests', `${this.#limits.maxClients} live streams are open, which is the limit; close one`);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
    response.flushHeaders();
    const client: Client = { response, task };
    this.#clients.add(client);
    response.once('close', () => this.#clients.delete(client));
    this.#write(client, 'retry: 1000\n\n');
    if (lastEventId === undefined) return;
    for (const event of this.#ring.after(lastEventId, task)) this.#write(client, textOf(event));
  }

  /** A round was closed; called for each report message. */
  reported(report: { kind: string; namespace: string; task: string }): void {
    this.#tell('report', report);
  }

  #tell(name: LiveEvent['name'], payload: { kind: string; namespace: string; task: string }): void {
    const event = this.#ring.add(taskKey(payload.kind, payload.namespace, payload.task), name, JSON.stringify(payload));
    const text = textOf(event);
    for (const client of this.#clients) if (client.task === undefined || client.task === event.task) this.#write(client, text);
  }

  #write(client: Client, text: string): void {
    const { response } = client;
    if (response.destroyed || response.writableEnded) return;
    response.write(text);
    if (response.writableLength > this.#limits.maxBuffered) {
      this.#clients.delete(client);
      response.destroy();
    }
  }
}

const textOf = ({ id, name, data }: LiveEvent): string => `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
