import { JetStreamApiError } from '@nats-io/jetstream';
import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';
import type { CoreMessage, PipeRequest, RequestMessage, StreamMessage } from './catalogue.ts';
import { ServiceError, Unreachable } from './bus.ts';
import type { Bus, BusCounts, ConsumeOptions, Delivered, Delivery, Endpoint, Params, ServiceInfo, Subscription } from './bus.ts';
import { check, decodeJson, encodeJson } from './codec.ts';
import { Connection } from './connection.ts';
import type { ConnectOptions } from './connection.ts';
import { consume } from './consume.ts';
import { serve } from './micro.ts';
import type { Pipe } from './pipe.ts';
import { openPipe, servePipes } from './pipes/connect.ts';
import { replay } from './replay.ts';
import { subscribe } from './subscribe.ts';
import type { SubscriptionCounts } from './subscribe.ts';
import { messageOf } from './log.ts';
import { subjectOf } from './subject.ts';

/** How long an append waits for a lost connection to come back before it gives up. */
const reconnectGraceMs = 2_000;
const appendTimeoutMs = 5_000;

const noResponders = (error: unknown): boolean =>
  error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders()) || (error instanceof Error && error.cause !== undefined && noResponders(error.cause));

/** The Bus over one NATS connection. */
export class NatsBus implements Bus {
  readonly identity: string;
  readonly counts: SubscriptionCounts = { invalid: 0, failed: 0, overflowed: 0 };
  #turn: Promise<void> | undefined;

  constructor(readonly connection: Connection) {
    this.identity = connection.identity;
  }

  health(): { connected: boolean; violations: string[]; counts: BusCounts } {
    const { connected, violations, dropped } = this.connection;
    return { connected, violations: [...violations], counts: { dropped, ...this.counts } };
  }

  publish<T>(message: CoreMessage<T>, params: Params, payload: T): void {
    const subject = subjectOf(message, params);
    if (message.checkedBySender !== true) check(message.schema, payload, subject);
    const data = encodeJson(payload);
    if (!this.connection.admit(data.length)) {
      this.connection.dropped += 1;
      return;
    }
    this.connection.nats.publish(subject, data);
  }

  async append<T>(message: StreamMessage<T>, params: Params, payload: T, options: { msgId: string }): Promise<{ seq: number; duplicate: boolean }> {
    const subject = subjectOf(message, params);
    if (message.checkedBySender !== true) check(message.schema, payload, subject);
    const data = encodeJson(payload);
    await this.connection.whenConnected(reconnectGraceMs);
    if (!this.connection.admit(data.length)) throw new Unreachable(`NATS does not keep up: ${subject} not sent`, { notSent: true });
    try {
      const ack = await this.connection.guarded(subject, () => this.connection.js.publish(subject, data, { msgID: options.msgId, timeout: appendTimeoutMs }));
      return { seq: ack.seq, duplicate: ack.duplicate };
    } catch (error) {
      if (error instanceof JetStreamApiError) {
        // 10077 is any refusal of the store; only this one means that the same message is still there.
        if (error.code === 10077 && error.message.includes('per subject')) return { seq: 0, duplicate: true };
        throw new Error(`stream ${message.stream} refused ${subject}: ${error.message}`, { cause: error });
      }
      if (noResponders(error)) throw new Unreachable(`no stream takes ${subject}: ${message.stream} is missing or JetStream is off`, { cause: error });
      if (error instanceof TimeoutError) throw new Unreachable(`no ack for ${subject} within ${appendTimeoutMs} ms`, { cause: error });
      throw error;
    }
  }

  async request<Q, A, I>(message: RequestMessage<Q, A, I>, params: Params, payload: I, options: { timeoutMs?: number } = {}): Promise<A> {
    const subject = subjectOf(message, params);
    check(message.request, payload, subject);
    const data = encodeJson(payload);
    const timeoutMs = options.timeoutMs ?? message.timeoutMs;
    const deadline = Date.now() + timeoutMs;
    await this.#endOfTurn();
    await this.connection.whenConnected(timeoutMs);
    if (!this.connection.admit(data.length)) throw new Unreachable(`NATS does not keep up: ${subject} not sent`, { notSent: true });
    const most = this.connection.nats.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (data.length > most) throw new ServiceError(413, `the request has ${data.length} bytes with all that is said of it; at most ${most} can be carried`);
    const reply = await this.connection.guarded(subject, () => this.connection.nats.request(subject, data, { timeout: Math.max(1, deadline - Date.now()) })).catch((error: unknown) => {
      if (noResponders(error)) throw new Unreachable(`nobody serves ${subject}`, { cause: error, notSent: true });
      if (error instanceof TimeoutError) throw new Unreachable(`no answer to ${subject} within ${timeoutMs} ms`, { cause: error });
      throw error;
    });
    const code = reply.headers?.get('Nats-Service-Error-Code') ?? '';
    if (code !== '') throw new ServiceError(Number(code), reply.headers?.get('Nats-Service-Error') ?? '', bodyOf(reply.data));
    return decodeJson(message.reply, reply.data, `the reply to ${subject}`);
  }

  /** Requests of one turn of the event loop leave together: a system call for each would cost more than the rest of it. */
  #endOfTurn(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined;
        resolve();
      });
    });
    return this.#turn;
  }

  subscribe<T>(message: CoreMessage<T>, params: Params, handle: (delivered: Delivered<T>) => void | Promise<void>, options: { queue?: string } = {}): Promise<Subscription> {
    return subscribe(this.connection, message, params, handle, options.queue, this.counts);
  }

  serve(info: ServiceInfo, endpoints: readonly Endpoint<never, unknown>[]): Promise<Subscription> {
    return serve(this.connection, info, endpoints);
  }

  consume<T>(message: StreamMessage<T>, options: ConsumeOptions, handle: (batch: readonly Delivery<T>[]) => Promise<void>): Promise<Subscription> {
    return consume(this.connection, message, options, handle);
  }

  replay<T>(message: StreamMessage<T>, params: Params, options: { afterSeq: number | 'now' }, handle: (delivered: Delivered<T> & { seq: number }) => void): Promise<Subscription> {
    return replay(this.connection, message, params, options.afterSeq, handle);
  }

  openPipe(node: string, request: Omit<PipeRequest, 'session'>): Promise<Pipe> {
    return openPipe(this.connection, this.request.bind(this), node, request);
  }

  servePipes(node: string, open: (request: PipeRequest) => Promise<(pipe: Pipe) => Promise<void>>): Promise<Subscription> {
    return servePipes(this.connection, node, open);
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

function bodyOf(data: Uint8Array): unknown {
  if (data.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch (error) {
    return { message: `the error's body is not JSON: ${messageOf(error)}` };
  }
}

/** Connects as an identity. Waits for a server that is not up yet; throws when it refuses or is older than 2.12. */
export async function connectBus(options: ConnectOptions): Promise<Bus> {
  return new NatsBus(await Connection.open(options));
}

/** The connection below a bus, for what this package does beside the Bus interface. */
export function connectionOf(bus: Bus): Connection {
  if (!(bus instanceof NatsBus)) throw new Error(`the bus of ${bus.identity} is not a NATS connection`);
  return bus.connection;
}
