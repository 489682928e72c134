import type { DnsTarget, Materials, ProbeErrorCode, SuccessCondition } from '@roundsman/api';
import type { ConnectionOptions } from 'node:tls';
import { Deadlines, lateAnswer } from '../deadlines.ts';
import { tlsOptions } from '../tls-options.ts';
import type { Limits } from '../limits.ts';
import type { Lane, Prepared, Prober } from '../probe.ts';
import type { Pinned } from '../resolve.ts';
import { compileExpectation, encodeQuery, judgeReply, replyCodeName, type Expectation } from './message.ts';
import { maxUnderway, QueryIds, type Query, type QueryCarrier, type QueryOutcomes } from './query.ts';
import { StreamChannel } from './stream.ts';
import { UdpChannel } from './udp.ts';

/** UDP sockets per target, taken in turn: queries leave from several ports, as those of many clients would. */
const udpSockets = 4;
/** Queries under way on a connection before another one is opened. */
const pipeline = 64;
const streamConnections = 8;

/**
 * DNS over UDP, TCP and TLS; any record type. A truncated UDP reply is asked for again over TCP (RFC 7766), the latency
 * is that of both. Recursion is desired, EDNS is not used, search domains are never applied.
 */
export function prepareDns(target: DnsTarget, expect: SuccessCondition, materials: Materials): Prepared {
  const query = encodeQuery(target);
  const expected = compileExpectation(expect, target);
  const tls = target.protocol === 'tcp-tls' ? tlsOptions(target, materials, target.serverName ?? target.server) : undefined;
  const server = target.server.includes(':') ? `[${target.server}]` : target.server;
  return {
    address: `${server}:${target.port}/${target.recordType}/${target.domain}`,
    method: target.protocol,
    host: target.server,
    port: target.port,
    open: (pinned, lane, timeoutMs, limits) => new DnsProber(target.protocol, query, expected, tls, pinned, lane, timeoutMs, limits),
  };
}

class DnsProber implements Prober, QueryOutcomes {
  readonly gathers = true;
  inFlight = 0;
  readonly #protocol: DnsTarget['protocol'];
  readonly #template: Buffer;
  readonly #expected: Expectation;
  readonly #tls: ConnectionOptions | undefined;
  readonly #pinned: Pinned;
  readonly #lane: Lane;
  readonly #timeoutMs: number;
  readonly #limits: Limits;
  readonly #most: number;
  readonly #deadlines: Deadlines<Query>;
  readonly #ids = new QueryIds();
  readonly #sockets: UdpChannel[] = [];
  readonly #streams = new Set<StreamChannel>();
  readonly #spare: Query[] = [];
  #turn = 0;
  /** The server closes early: over TCP and TLS a connection for each query. */
  #single = false;

  constructor(protocol: DnsTarget['protocol'], template: Buffer, expected: Expectation, tls: ConnectionOptions | undefined, pinned: Pinned, lane: Lane, timeoutMs: number, limits: Limits) {
    this.#protocol = protocol;
    this.#template = template;
    this.#expected = expected;
    this.#tls = tls;
    this.#pinned = pinned;
    this.#lane = lane;
    this.#timeoutMs = timeoutMs;
    this.#limits = limits;
    this.#most = Math.min(limits.inFlight, maxUnderway);
    this.#deadlines = new Deadlines(timeoutMs, (query, now) => this.#expired(query, now));
  }

  hasRoom(): boolean {
    if (this.#single && this.#streams.size >= this.#limits.connections) return false;
    return this.inFlight < this.#most && this.#ids.room;
  }

  start(intended: number, now: number): void {
    const query = this.#spare.pop() ?? this.#newQuery();
    query.intended = intended;
    query.retried = false;
    this.inFlight += 1;
    this.#ids.take(query, now);
    this.#deadlines.add(query, now);
    if (this.#protocol === 'udp') this.#udp().send(query, now);
    else this.#stream(now).send(query, now);
  }

  cancel(): void {
    const now = performance.now();
    this.#deadlines.drain((query) => {
      query.carrier?.forget(query);
      this.failure(query, now, 'canceled', 'the round was canceled');
    });
  }

  close(): void {
    this.#deadlines.stop();
    for (const socket of this.#sockets) socket.close();
    for (const stream of this.#streams) stream.close();
  }

  carriedBy(carrier: QueryCarrier): Query[] {
    return this.#ids.carriedBy(carrier);
  }

  find(id: number): Query | undefined {
    return this.#ids.find(id);
  }

  reply(query: Query, reply: Buffer, now: number, overStream: boolean): void {
    const { record } = this.#lane;
    record.bytes += reply.length;
    const truncated = (reply[2]! & 0x02) !== 0;
    if (truncated && !overStream) {
      this.#stream(now).send(query, now);
      return;
    }
    record.phase('firstByte', now - query.sentAt);
    const code = reply[3]! & 0x0f;
    record.replyCode(replyCodeName(code));
    const wrong = truncated ? ({ code: 'protocol', message: 'the reply over TCP is truncated' } as const) : judgeReply(reply, code, this.#expected);
    if (now > query.deadline) record.failure(query.intended, now, 'timeout', lateAnswer(this.#timeoutMs));
    else if (wrong === undefined) record.success(query.intended, now);
    else record.failure(query.intended, now, wrong.code, wrong.message);
    this.#spare.push(query);
    this.#end(query, true, now);
  }

  failure(query: Query, now: number, code: ProbeErrorCode, message: string): void {
    this.#lane.record.failure(query.intended, now, code, message);
    // Not used again: its bytes may still lie in a send queue.
    this.#end(query, false, now);
  }

  lost(query: Query, now: number, code: ProbeErrorCode, message: string): void {
    if (query.retried) {
      this.failure(query, now, code, message);
      return;
    }
    query.retried = true;
    // On a connection of its own: no other query's fate is its fate again.
    this.#newStream(now, true).send(query, now);
  }

  closesEarly(): void {
    this.#single = true;
  }

  move(queries: Query[]): void {
    const now = performance.now();
    for (const query of queries) this.#stream(now).send(query, now);
  }

  #udp(): UdpChannel {
    const turn = this.#turn++ % udpSockets;
    return (this.#sockets[turn] ??= new UdpChannel(this.#pinned, this));
  }

  #stream(now: number): StreamChannel {
    let best: StreamChannel | undefined;
    for (const stream of this.#streams) {
      if (stream.stale || stream.single || this.#single) continue;
      if (best === undefined || stream.underway.size < best.underway.size) best = stream;
    }
    const most = Math.min(streamConnections, this.#limits.connections);
    if (best !== undefined && (best.underway.size < pipeline || this.#streams.size >= most)) return best;
    return this.#newStream(now, this.#single);
  }

  #newStream(now: number, single: boolean): StreamChannel {
    const stream = new StreamChannel(this.#pinned, this.#tls, this.#lane.record, this, (closed) => this.#streams.delete(closed), now, single);
    this.#streams.add(stream);
    return stream;
  }

  #expired(query: Query, now: number): void {
    const making = query.carrier?.forget(query) ?? false;
    if (making) this.failure(query, now, 'connect-timeout', `no connection within ${this.#timeoutMs} ms`);
    else this.failure(query, now, 'timeout', `no answer within ${this.#timeoutMs} ms`);
  }

  #end(query: Query, answered: boolean, now: number): void {
    this.#deadlines.remove(query);
    this.#ids.release(query, answered, now);
    query.carrier = undefined;
    this.inFlight -= 1;
    this.#lane.ended(now);
  }

  #newQuery(): Query {
    const framed = Buffer.alloc(2 + this.#template.length);
    framed.writeUInt16BE(this.#template.length, 0);
    this.#template.copy(framed, 2);
    const onSent = (error: Error | null): void => {
      if (error !== null) query.carrier?.unsendable(query, error);
    };
    const query: Query = { intended: 0, sentAt: 0, id: 0, framed, message: framed.subarray(2), retried: false, carrier: undefined, onSent, deadline: 0, previous: undefined, next: undefined };
    return query;
  }
}
