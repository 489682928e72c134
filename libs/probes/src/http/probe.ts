import type { HttpTarget, Materials, ProbeErrorCode, SuccessCondition } from '@roundsman/api';
import { Deadlines, lateAnswer } from '../deadlines.ts';
import type { Limits } from '../limits.ts';
import type { Lane, Prepared, Prober } from '../probe.ts';
import type { Pinned } from '../resolve.ts';
import { Connection, type ConnectionPool } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { buildRequest, portOf, type HttpRequest } from './request.ts';
import { Session, type SessionPool } from './session.ts';

/**
 * HTTP/1.1 over plain sockets or TLS, HTTP/2 by ALPN over TLS. Connections are kept within the round; redirects are not
 * followed. Any complete response counts as good when its status is `expect.statusCode`, or 200..399 without one.
 */
export function prepareHttp(target: HttpTarget, expect: SuccessCondition, materials: Materials): Prepared {
  const request = buildRequest(target, materials);
  return {
    address: target.url,
    method: target.method,
    host: target.connect?.host ?? request.url.hostname,
    port: target.connect?.port ?? portOf(request.url),
    open: (pinned, lane, timeoutMs, limits) => new HttpProber(request, expect.statusCode, pinned, lane, timeoutMs, limits),
  };
}

/**
 * TLS connections to a target that answers, being made at a time. Each costs about a millisecond of CPU time: if all that a
 * stall held up opened connections of its own, making them would be the next stall.
 */
const mostHandshakes = 32;
/** A server that refuses a request again and again, though nothing exceeds its limit, does not want it. */
const mostRefusals = 3;

class HttpProber implements Prober, ConnectionPool, SessionPool {
  readonly gathers = false;
  inFlight = 0;
  readonly #request: HttpRequest;
  readonly #statusCode: number | undefined;
  readonly #pinned: Pinned;
  readonly #lane: Lane;
  readonly #limits: Limits;
  readonly #timeoutMs: number;
  readonly #deadlines: Deadlines<Exchange>;
  readonly #connections = new Set<Connection>();
  readonly #sessions = new Set<Session>();
  /** The one that was used last is taken first, so that no more are kept alive than needed. */
  readonly #idle: Connection[] = [];
  readonly #spare: Exchange[] = [];
  #http2: boolean;
  streamsLearnt: number | undefined;
  #making = 0;
  /** The target makes connections; of one that does not, each request shall find that out for itself. */
  #answers = false;
  /** HTTP/2: started, and waiting for a stream on whichever connection has one first. */
  readonly #parked = new Set<Exchange>();

  constructor(request: HttpRequest, statusCode: number | undefined, pinned: Pinned, lane: Lane, timeoutMs: number, limits: Limits) {
    this.#request = request;
    this.#http2 = request.http2;
    this.#statusCode = statusCode;
    this.#pinned = pinned;
    this.#lane = lane;
    this.#limits = limits;
    this.#timeoutMs = timeoutMs;
    this.#deadlines = new Deadlines(timeoutMs, (exchange, now) => this.#expired(exchange, now));
  }

  hasRoom(): boolean {
    if (!this.#http2) return this.#idle.length > 0 || this.#mayConnect(this.#connections.size);
    return this.inFlight < this.#limits.inFlight && this.#parked.size === 0 && (this.#mayConnect(this.#sessions.size) || this.#session() !== undefined);
  }

  start(intended: number, now: number): void {
    const exchange = this.#spare.pop() ?? newExchange();
    exchange.intended = intended;
    exchange.writtenAt = now;
    exchange.firstByteAt = 0;
    exchange.stream = 0;
    exchange.retried = false;
    exchange.refusals = 0;
    this.inFlight += 1;
    this.#deadlines.add(exchange, now);
    this.#dispatch(exchange, now);
  }

  cancel(): void {
    const now = performance.now();
    this.#deadlines.drain((exchange) => {
      exchange.carrier?.abandon(exchange);
      this.failure(exchange, now, 'canceled', 'the round was canceled');
    });
  }

  close(): void {
    this.#deadlines.stop();
    for (const connection of this.#connections) connection.close();
    for (const session of this.#sessions) session.close();
    this.#idle.length = 0;
  }

  idle(connection: Connection): void {
    this.#idle.push(connection);
  }

  closed(connection: Connection | Session): void {
    if (connection instanceof Session) {
      this.#sessions.delete(connection);
      return;
    }
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  success(exchange: Exchange, now: number, status: number, bytes: number): void {
    const { record } = this.#lane;
    record.bytes += bytes;
    record.statusCode(status);
    const expected = this.#statusCode;
    if (now > exchange.deadline) record.failure(exchange.intended, now, 'timeout', lateAnswer(this.#timeoutMs));
    else if (expected === undefined ? status >= 200 && status < 400 : status === expected) record.success(exchange.intended, now);
    else record.failure(exchange.intended, now, 'status', `status ${status}, expected ${expected ?? '200 to 399'}`);
    this.#end(exchange, now);
  }

  failure(exchange: Exchange, now: number, code: ProbeErrorCode, message: string, bytes = 0): void {
    this.#lane.record.bytes += bytes;
    this.#lane.record.failure(exchange.intended, now, code, message);
    this.#end(exchange, now);
  }

  /** From here on the target is probed with HTTP/1.1. */
  notHttp2(waiting: Exchange[]): void {
    this.#http2 = false;
    this.move(waiting);
    this.#unpark(performance.now());
  }

  making(): void {
    this.#making += 1;
  }

  made(ready: boolean): void {
    this.#making -= 1;
    if (ready) this.#answers = true;
  }

  unanswered(): void {
    this.#answers = false;
  }

  ready(now: number): void {
    this.#unpark(now);
  }

  move(waiting: Exchange[]): void {
    const now = performance.now();
    for (const exchange of waiting) this.#dispatch(exchange, now);
  }

  lost(exchange: Exchange, now: number, code: ProbeErrorCode, message: string, untouched = false): void {
    const again = untouched ? exchange.refusals < mostRefusals : this.#request.idempotent && !exchange.retried;
    if (!again) {
      this.failure(exchange, now, code, message);
      return;
    }
    if (untouched) exchange.refusals += 1;
    else exchange.retried = true;
    if (this.#http2) this.#dispatch(exchange, now);
    else this.#connect(exchange, now);
  }

  #dispatch(exchange: Exchange, now: number): void {
    if (this.#http2) {
      let session = this.#session();
      if (session === undefined) {
        if (!this.#mayConnect(this.#sessions.size)) {
          exchange.carrier = undefined;
          this.#parked.add(exchange);
          return;
        }
        session = new Session(this.#pinned, this.#request, this.#lane.record, this, now);
        this.#sessions.add(session);
      }
      session.send(exchange, now);
      return;
    }
    const kept = this.#idle.pop();
    if (kept === undefined) this.#connect(exchange, now);
    else kept.send(exchange, now);
  }

  #mayConnect(open: number): boolean {
    return open < this.#limits.connections && (this.#request.tls === undefined || !this.#answers || this.#making < mostHandshakes);
  }

  #unpark(now: number): void {
    for (const exchange of this.#parked) {
      if (this.#http2 && this.#session() === undefined && !this.#mayConnect(this.#sessions.size)) return;
      this.#parked.delete(exchange);
      this.#dispatch(exchange, now);
    }
  }

  #session(): Session | undefined {
    for (const session of this.#sessions) if (session.room) return session;
    return undefined;
  }

  #connect(exchange: Exchange, now: number): void {
    this.#connections.add(new Connection(this.#pinned, this.#request, this.#lane.record, this, exchange, now));
  }

  #expired(exchange: Exchange, now: number): void {
    const making = exchange.carrier?.abandon(exchange) ?? false;
    if (making) this.failure(exchange, now, 'connect-timeout', `no connection within ${this.#timeoutMs} ms`);
    else this.failure(exchange, now, 'timeout', exchange.firstByteAt === 0 ? `no answer within ${this.#timeoutMs} ms` : `no complete answer within ${this.#timeoutMs} ms`);
  }

  #end(exchange: Exchange, now: number): void {
    this.#deadlines.remove(exchange);
    this.#parked.delete(exchange);
    exchange.carrier = undefined;
    this.#spare.push(exchange);
    this.inFlight -= 1;
    if (this.#parked.size > 0) this.#unpark(now);
    this.#lane.ended(now);
  }
}

function newExchange(): Exchange {
  return { intended: 0, writtenAt: 0, firstByteAt: 0, retried: false, refusals: 0, stream: 0, carrier: undefined, deadline: 0, previous: undefined, next: undefined };
}
