import type { CoreMessage, PipeRequest, RequestMessage, StreamMessage } from './catalogue.ts';
import type { Pipe } from './pipe.ts';

/** Values for the `{param}` tokens of a subject; numbers are written in decimal. */
export type Params = Record<string, string | number>;

/** An answer that is an error: `code` is HTTP-like, `body` is a Kubernetes Status where a client will see it. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  constructor(
    readonly code: number,
    message: string,
    readonly body?: unknown,
  ) {
    super(message);
  }
}

/** No answer within the time, nobody listening, or no connection: the outcome of a write is unknown. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
  /** True when nobody can have acted on it (no responders, or it was never sent): trying again is safe. */
  readonly notSent: boolean;

  constructor(message: string, options: ErrorOptions & { notSent?: boolean } = {}) {
    super(message, options);
    this.notSent = options.notSent ?? false;
  }
}

export interface Delivered<T> {
  readonly subject: string;
  readonly params: Record<string, string>;
  readonly payload: T;
}

/** One durable delivery. Settle it exactly once; an unsettled one comes again after the consumer's ack wait. */
export interface Delivery<T> extends Delivered<T> {
  readonly deliveries: number;
  readonly bytes: number;
  /** Done; resolves when the server has the ack. */
  ack(): Promise<void>;
  /** Try again after this many milliseconds. */
  retry(delayMs: number): void;
  /** Still at it: restarts the ack wait. */
  working(): void;
  /** Can never be handled: to the dead letters with the reason, then removed. */
  reject(reason: string, message: string): Promise<void>;
}

export interface Subscription {
  stop(): Promise<void>;
}

export interface ServiceInfo {
  /** [A-Za-z0-9_-]+: `intake`, `scheduler`. */
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export interface Endpoint<Q = never, A = unknown> {
  readonly message: RequestMessage<Q, A>;
  /** Throw a ServiceError for an answer that is an error. */
  readonly handle: (request: Q, params: Record<string, string>) => Promise<A> | A;
  /** Fixes params (a runner only serves its own). Unset ones match all. */
  readonly params?: Params;
}

/** An endpoint for `serve`, typed by its message: `endpoint(messages.get, (request) => ...)`. */
export function endpoint<Q, A, I>(
  message: RequestMessage<Q, A, I>,
  handle: (request: Q, params: Record<string, string>) => Promise<A> | A,
  params?: Params,
): Endpoint<never, unknown> {
  const typed = { message, handle, ...(params === undefined ? {} : { params }) };
  return typed as unknown as Endpoint<never, unknown>;
}

export interface ConsumeOptions {
  /** Durable name; all instances of it share the messages. */
  readonly durable: string;
  readonly params?: Params;
  readonly ackWaitMs: number;
  /** Deliveries before a message goes to the dead letters; it also goes there when its schema fails. */
  readonly maxDeliver: number;
  readonly maxAckPending: number;
  /** Messages handed over together, waiting at most `batchMs` for the first to be joined. 1 for one by one. */
  readonly batch?: number;
  readonly batchMs?: number;
  /** False for identities that may not create consumers (runners): somebody else made it. */
  readonly create: boolean;
}

/** What went wrong with messages since the start, for metrics. */
export interface BusCounts {
  /** Core messages not sent: no connection, or one that does not keep up. */
  readonly dropped: number;
  /** Core messages received with a subject or payload that the catalogue refuses. */
  readonly invalid: number;
  /** Subscription handlers that threw. */
  readonly failed: number;
  /** Core messages received and dropped because the handler was too far behind. */
  readonly overflowed: number;
}

/** Typed NATS for one identity. One connection; made by `connectBus`, closed by `close` (drains). */
export interface Bus {
  readonly identity: string;
  /** Readable state for readiness: false while disconnected or after a permission violation (which names the subject). */
  health(): { connected: boolean; violations: string[]; counts?: BusCounts };
  /** Best effort: checked and sent, or dropped and counted while there is no connection. Throws on wrong params or payload. */
  publish<T>(message: CoreMessage<T>, params: Params, payload: T): void;
  /** Resolves when the stream has it. `duplicate`: the stream had it already (Msg-Id or one live message per subject). */
  append<T>(message: StreamMessage<T>, params: Params, payload: T, options: { msgId: string }): Promise<{ seq: number; duplicate: boolean }>;
  request<Q, A, I>(message: RequestMessage<Q, A, I>, params: Params, payload: I, options?: { timeoutMs?: number }): Promise<A>;
  /** Params left out match everything. Handlers run one after another per subscription; a throwing handler is logged and counted. */
  subscribe<T>(message: CoreMessage<T>, params: Params, handle: (delivered: Delivered<T>) => void | Promise<void>, options?: { queue?: string }): Promise<Subscription>;
  /** Registers endpoints and answers the NATS micro protocol (ADR-32: PING, INFO, STATS). */
  serve(info: ServiceInfo, endpoints: readonly Endpoint<never, unknown>[]): Promise<Subscription>;
  consume<T>(message: StreamMessage<T>, options: ConsumeOptions, handle: (batch: readonly Delivery<T>[]) => Promise<void>): Promise<Subscription>;
  /** Replays a limits stream from a sequence (exclusive) or, with `now`, what comes from the first time that it is reached; then follows; ordered, gap-free, ends with `stop`. */
  replay<T>(message: StreamMessage<T>, params: Params, options: { afterSeq: number | 'now' }, handle: (delivered: Delivered<T> & { seq: number }) => void): Promise<Subscription>;
  /** Opens a stream to something that runs on a node. Rejects like `request`: with the agent's ServiceError, or Unreachable. */
  openPipe(node: string, request: Omit<PipeRequest, 'session'>): Promise<Pipe>;
  /** Answers pipes to a node: `open` throws a ServiceError to refuse; what it returns is run with the pipe once the other side knows that it is open. */
  servePipes(node: string, open: (request: PipeRequest) => Promise<(pipe: Pipe) => Promise<void>>): Promise<Subscription>;
  close(): Promise<void>;
}
