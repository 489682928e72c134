import type { Socket } from 'node:net';
import { classify } from '../errors.ts';
import type { Recorder } from '../recorder.ts';
import type { Pinned } from '../resolve.ts';
import type { Carrier, Exchange, Outcomes } from './exchange.ts';
import type { HttpRequest } from './request.ts';
import { ResponseParser } from './response-parser.ts';
import { openSocket } from '../socket.ts';

/** What an HTTP/1.1 connection tells its pool. */
export interface ConnectionPool extends Outcomes {
  /** The connection can carry the next exchange. */
  idle(connection: Connection): void;
  closed(connection: Connection): void;
}

type Stage = 'connect' | 'tls' | 'exchange' | 'closed';

/** One HTTP/1.1 connection, plain or TLS; carries one exchange at a time. */
export class Connection implements Carrier {
  readonly #request: HttpRequest;
  readonly #record: Recorder;
  readonly #pool: ConnectionPool;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser();
  #stage: Stage = 'connect';
  #stageStart: number;
  #exchange: Exchange | undefined;
  /** Exchanges this connection completed. */
  #served = 0;

  /** Connects; `first` is written as soon as that is possible. */
  constructor(to: Pinned, request: HttpRequest, record: Recorder, pool: ConnectionPool, first: Exchange, now: number) {
    this.#request = request;
    this.#record = record;
    this.#pool = pool;
    this.#exchange = first;
    first.carrier = this;
    this.#stageStart = now;
    pool.making();
    this.#socket = openSocket(to, request.tls, {
      connected: () => this.#connected(),
      ready: () => this.#ready(),
      data: (buffer, length) => this.#data(buffer, length),
      ended: () => this.#ended(),
      failed: (error) => this.#failed(error),
    });
  }

  send(exchange: Exchange, now: number): void {
    this.#exchange = exchange;
    exchange.carrier = this;
    this.#write(exchange, now);
  }

  abandon(): boolean {
    const making = this.#stage === 'connect' || this.#stage === 'tls';
    this.#exchange = undefined;
    if (making) this.#pool.unanswered();
    this.close();
    return making;
  }

  close(): void {
    if (this.#stage === 'closed') return;
    if (this.#stage !== 'exchange') this.#pool.made(false);
    this.#stage = 'closed';
    this.#socket.destroy();
    this.#pool.closed(this);
  }

  #connected(): void {
    if (this.#stage !== 'connect') return;
    const now = performance.now();
    this.#record.phase('connect', now - this.#stageStart);
    this.#stageStart = now;
    if (this.#request.tls !== undefined) this.#stage = 'tls';
  }

  #ready(): void {
    if (this.#stage === 'closed') return;
    const now = performance.now();
    if (this.#request.tls !== undefined) this.#record.phase('tls', now - this.#stageStart);
    this.#pool.made(true);
    this.#stage = 'exchange';
    if (this.#exchange !== undefined) this.#write(this.#exchange, now);
  }

  #write(exchange: Exchange, now: number): void {
    exchange.writtenAt = now;
    exchange.firstByteAt = 0;
    this.#parser.begin(this.#request.rule);
    this.#socket.write(this.#request.bytes);
  }

  #data(buffer: Buffer, length: number): void {
    const exchange = this.#exchange;
    if (this.#stage === 'closed') return;
    if (exchange === undefined) {
      // Bytes nobody asked for: whatever they are, the next response could not be told from them.
      this.close();
      return;
    }
    const now = performance.now();
    if (exchange.firstByteAt === 0) {
      exchange.firstByteAt = now;
      this.#record.phase('firstByte', now - exchange.writtenAt);
    }
    const parser = this.#parser;
    const stopped = parser.take(buffer, 0, length);
    if (parser.error !== undefined) this.#fail(now, 'protocol', parser.error);
    else if (parser.complete) this.#complete(exchange, now, stopped === length);
  }

  #complete(exchange: Exchange, now: number, clean: boolean): void {
    const parser = this.#parser;
    this.#record.phase('transfer', now - exchange.firstByteAt);
    this.#exchange = undefined;
    this.#served += 1;
    if (parser.keepAlive && clean) this.#pool.idle(this);
    else this.close();
    this.#pool.success(exchange, now, parser.status, parser.bodyBytes);
  }

  #ended(): void {
    if (this.#stage === 'closed') return;
    const now = performance.now();
    const exchange = this.#exchange;
    if (exchange !== undefined && exchange.firstByteAt > 0 && this.#parser.end()) this.#complete(exchange, now, true);
    else if (exchange !== undefined && exchange.firstByteAt === 0) this.#breakOff(now, 'closed', 'the server closed the connection without an answer');
    else this.#fail(now, 'closed', 'the server closed the connection in the middle of its answer');
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (this.#stage === 'closed') return;
    const { code, message } = classify(error, this.#stage);
    if (this.#stage === 'exchange' && (this.#exchange?.firstByteAt ?? 0) === 0) this.#breakOff(performance.now(), code, message);
    else this.#fail(performance.now(), code, message);
  }

  /** Broken before any byte of the response: on a kept connection that is a race with the server's idle timeout. */
  #breakOff(now: number, code: Parameters<Outcomes['lost']>[2], message: string): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#served === 0) {
      this.#fail(now, code, message);
      return;
    }
    this.#exchange = undefined;
    this.close();
    this.#pool.lost(exchange, now, code, message);
  }

  #fail(now: number, code: Parameters<Outcomes['failure']>[2], message: string): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.close();
    if (exchange !== undefined) this.#pool.failure(exchange, now, code, message, this.#parser.bodyBytes);
  }
}
