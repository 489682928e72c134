import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ProbeErrorCode } from '@roundsman/api';
import { classify } from '../errors.ts';
import { openSocket } from '../socket.ts';
import type { Recorder } from '../recorder.ts';
import type { Pinned } from '../resolve.ts';
import { answersQuestion, readReply } from './message.ts';
import type { Query, QueryCarrier, QueryOutcomes } from './query.ts';

/** A server that closes with queries pending after fewer replies than this, in the midst of answering, does not want a pipeline. */
const fewReplies = 64;
const midstMs = 1000;

/** DNS over one TCP or TLS connection: queries are pipelined, replies come in any order (RFC 7766). */
export class StreamChannel implements QueryCarrier {
  readonly underway = new Set<Query>();
  /** It seems to be dead: no new queries. */
  stale = false;
  /** It carries one query, then it is closed. */
  readonly single: boolean;
  readonly #record: Recorder;
  readonly #outcomes: QueryOutcomes;
  readonly #closedBy: (channel: StreamChannel) => void;
  readonly #socket: Socket;
  readonly #secure: boolean;
  #stage: 'connect' | 'tls' | 'exchange' | 'closed' = 'connect';
  #stageStart: number;
  #served = 0;
  #first: Query | undefined;
  #lastData = 0;
  /** Bytes of a reply that is not all there yet. */
  #partial = Buffer.alloc(0);

  /** `single`: closes after the first reply. */
  constructor(to: Pinned, tls: ConnectionOptions | undefined, record: Recorder, outcomes: QueryOutcomes, closed: (channel: StreamChannel) => void, now: number, single: boolean) {
    this.single = single;
    this.#record = record;
    this.#outcomes = outcomes;
    this.#closedBy = closed;
    this.#secure = tls !== undefined;
    this.#stageStart = now;
    this.#socket = openSocket(to, tls, {
      connected: () => this.#connected(),
      ready: () => this.#ready(),
      data: (buffer, length) => this.#data(buffer, length),
      ended: () => this.#broken('closed', 'the server closed the connection without an answer'),
      failed: (error) => {
        if (this.#stage === 'closed') return;
        const { code, message } = classify(error, this.#stage);
        this.#broken(code, message);
      },
    });
  }

  send(query: Query, now: number): void {
    query.carrier = this;
    query.sentAt = now;
    this.underway.add(query);
    this.#first ??= query;
    if (this.#stage === 'exchange') this.#socket.write(query.framed);
  }

  /**
   * A connection that could not be made in the time of its first query is given up, what waits for it is moved to
   * another one. One that stayed silent since the query was sent takes no more queries.
   */
  forget(query: Query): boolean {
    this.underway.delete(query);
    if (this.#stage === 'exchange') {
      if (this.#lastData < query.sentAt) this.stale = true;
      if (this.stale && this.underway.size === 0) this.close();
      return false;
    }
    if (query === this.#first) {
      const waiting = [...this.underway];
      this.underway.clear();
      this.close();
      this.#outcomes.move(waiting);
    }
    return true;
  }

  /** Streams tell errors by events. */
  unsendable(): void {}

  close(): void {
    if (this.#stage === 'closed') return;
    this.#stage = 'closed';
    this.#socket.destroy();
    this.#closedBy(this);
  }

  #connected(): void {
    if (this.#stage !== 'connect') return;
    const now = performance.now();
    this.#record.phase('connect', now - this.#stageStart);
    this.#stageStart = now;
    if (this.#secure) this.#stage = 'tls';
  }

  #ready(): void {
    if (this.#stage === 'closed') return;
    const now = performance.now();
    if (this.#secure) this.#record.phase('tls', now - this.#stageStart);
    this.#stage = 'exchange';
    for (const query of this.underway) {
      query.sentAt = now;
      this.#socket.write(query.framed);
    }
  }

  #data(buffer: Buffer, length: number): void {
    this.#lastData = performance.now();
    const bytes = this.#partial.length === 0 ? buffer.subarray(0, length) : Buffer.concat([this.#partial, buffer.subarray(0, length)]);
    let at = 0;
    while (this.#stage === 'exchange' && bytes.length - at >= 2) {
      const size = bytes.readUInt16BE(at);
      if (bytes.length - at - 2 < size) break;
      this.#message(bytes.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
    // A copy: the read buffer is used again.
    this.#partial = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
  }

  #message(message: Buffer): void {
    const reply = readReply(message);
    if (reply === undefined) {
      this.#broken('protocol', 'the server sent bytes that are no DNS reply');
      return;
    }
    const query = this.#outcomes.find(reply.id);
    if (query === undefined || !this.underway.has(query) || !answersQuestion(message, query.message)) return;
    this.underway.delete(query);
    this.#served += 1;
    if (this.single && this.underway.size === 0) this.close();
    this.#outcomes.reply(query, message, performance.now(), true);
  }

  #broken(code: ProbeErrorCode, message: string): void {
    if (this.#stage === 'closed') return;
    const wasOpen = this.#stage === 'exchange';
    const now = performance.now();
    const unanswered = [...this.underway];
    this.underway.clear();
    this.close();
    if (wasOpen && code !== 'protocol' && this.#closedEarly(unanswered.length, now)) this.#outcomes.closesEarly();
    for (const query of unanswered) {
      if (wasOpen && code !== 'protocol') this.#outcomes.lost(query, now, code, message);
      else this.#outcomes.failure(query, now, code, message);
    }
  }

  /** A reset may have destroyed the replies that were there: then none was seen. */
  #closedEarly(unanswered: number, now: number): boolean {
    if (this.#served === 0) return unanswered > 1;
    return unanswered > 0 && this.#served < fewReplies && now - this.#lastData < midstMs;
  }
}
