import type { Socket } from 'node:net';
import type { ProbeErrorCode } from '@roundsman/api';
import { classify } from '../errors.ts';
import type { Recorder } from '../recorder.ts';
import type { Pinned } from '../resolve.ts';
import { openSocket } from '../socket.ts';
import type { Carrier, Exchange, Outcomes } from './exchange.ts';
import { FrameReader, type FrameSink } from './frame-reader.ts';
import { cancelStream, defaultMaxFrame, defaultWindow, errorName, flag, frame, frameOf, hello, receiveWindow, refusedStream, resetStream, setting, windowUpdate } from './frames.ts';
import { encodeHeaders, readStatus } from './hpack.ts';
import type { HttpRequest } from './request.ts';
import { maxHeadBytes } from './response-parser.ts';

export interface SessionPool extends Outcomes {
  /** How many streams the server takes on a connection, as it said on an earlier one; undefined until one heard it. */
  streamsLearnt: number | undefined;
  closed(session: Session): void;
  /** The server does not speak HTTP/2: these must go another way. */
  notHttp2(waiting: Exchange[]): void;
  /** Its streams are open to anybody. */
  ready(now: number): void;
  /** Nothing of these was sent: other connections must carry them. */
  move(waiting: Exchange[]): void;
}

/** Streams on a connection when the server sets no limit, and how many exchanges wait for a connection that is being made. */
const assumedStreams = 100;
/** Streams opened before the server said how many it takes: it says so with its first bytes, the others wait for that. */
const unsettledStreams = 4;
const lastStream = 0x7fff_ffff;

interface Stream {
  exchange: Exchange;
  status: number;
  bytes: number;
  /** Of the request body. */
  sent: number;
  sendWindow: number;
  received: number;
}

/**
 * One HTTP/2 connection over TLS; carries many exchanges at a time. The request's header block is made once (RFC 7541
 * literals), of the response only the status and the amount of data matter.
 */
export class Session implements Carrier, FrameSink {
  readonly #request: HttpRequest;
  readonly #record: Recorder;
  readonly #pool: SessionPool;
  readonly #socket: Socket;
  readonly #reader = new FrameReader(this);
  readonly #streams = new Map<number, Stream>();
  readonly #block: Buffer;
  #stage: 'connect' | 'tls' | 'exchange' | 'closed' = 'connect';
  #stageStart: number;
  #waiting: Exchange[] = [];
  #maxStreams: number;
  /** The server's limit is known, from here or from an earlier connection. */
  #settled: boolean;
  #nextStream = 1;
  /** The server goes away, or seems dead: no new streams. */
  #draining = false;
  #served = 0;
  #lastData = 0;
  #sendWindow = defaultWindow;
  #initialWindow = defaultWindow;
  #maxFrame = defaultMaxFrame;
  #received = 0;
  #dataStream: Stream | undefined;
  #dataId = 0;
  #dataFlags = 0;
  #headers: { stream: number; flags: number; parts: Buffer[]; bytes: number } | undefined;
  /** Bytes to write when what arrived is worked off: one write for many streams. */
  #out: Buffer[] | undefined;

  constructor(to: Pinned, request: HttpRequest, record: Recorder, pool: SessionPool, now: number) {
    this.#request = request;
    this.#record = record;
    this.#pool = pool;
    this.#stageStart = now;
    pool.making();
    this.#maxStreams = pool.streamsLearnt ?? assumedStreams;
    this.#settled = pool.streamsLearnt !== undefined;
    const target = request.method === 'CONNECT' ? [] : ([[':scheme', 'https'], [':path', request.path]] as [string, string][]);
    this.#block = encodeHeaders([[':method', request.method], ...target, [':authority', request.authority], ...request.headers]);
    this.#socket = openSocket(to, { ...request.tls, ALPNProtocols: ['h2', 'http/1.1'] }, {
      connected: () => this.#connected(),
      ready: (alpn) => this.#ready(alpn),
      data: (buffer, length) => this.#data(buffer, length),
      ended: () => this.#broken('closed', 'the server closed the connection without an answer'),
      failed: (error) => {
        if (this.#stage === 'closed') return;
        const { code, message } = classify(error, this.#stage);
        this.#broken(code, message);
      },
    });
  }

  get room(): boolean {
    return this.#stage !== 'closed' && !this.#draining && this.#streams.size + this.#waiting.length < this.#maxStreams;
  }

  send(exchange: Exchange, now: number): void {
    exchange.carrier = this;
    exchange.stream = 0;
    if (this.#stage === 'exchange' && this.#mayOpen()) this.#open(exchange, now);
    else this.#waiting.push(exchange);
  }

  abandon(exchange: Exchange): boolean {
    const making = this.#stage === 'connect' || this.#stage === 'tls';
    if (exchange.stream === 0) this.#waiting = this.#waiting.filter((other) => other !== exchange);
    if (making) {
      this.#pool.unanswered();
      // Not one connection in the time of a request: the next request tries a new one.
      this.#draining = true;
    } else if (this.#streams.delete(exchange.stream)) {
      this.#write(resetStream(exchange.stream, cancelStream));
      if (this.#lastData < exchange.writtenAt) this.#draining = true;
    }
    this.#closeWhenDrained();
    return making;
  }

  close(): void {
    if (this.#stage === 'closed') return;
    if (this.#stage !== 'exchange') this.#pool.made(false);
    this.#stage = 'closed';
    this.#socket.destroy();
    this.#pool.closed(this);
  }

  frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.#headers !== undefined && type !== frame.continuation) throw new Error('a header block is interrupted');
    switch (type) {
      case frame.headers: {
        const padding = (flags & flag.padded) !== 0 ? payload[0]! : 0;
        const from = ((flags & flag.padded) !== 0 ? 1 : 0) + ((flags & flag.priority) !== 0 ? 5 : 0);
        if (from + padding > payload.length) throw new Error('a header frame is padded beyond its end');
        this.#headerPart(stream, flags, payload.subarray(from, payload.length - padding));
        return;
      }
      case frame.continuation:
        if (this.#headers?.stream !== stream) throw new Error('a continuation without its headers');
        this.#headerPart(stream, flags, payload);
        return;
      case frame.settings:
        if ((flags & flag.ack) === 0) this.#settings(payload);
        return;
      case frame.ping:
        if ((flags & flag.ack) === 0) this.#write(frameOf(frame.ping, flag.ack, 0, payload));
        return;
      case frame.windowUpdate:
        this.#widen(stream, payload.readUInt32BE(0) & lastStream);
        return;
      case frame.reset:
        this.#reset(stream, payload.readUInt32BE(0));
        return;
      case frame.goAway:
        this.#goAway(payload.readUInt32BE(0) & lastStream, payload.readUInt32BE(4));
        return;
      case frame.push:
        throw new Error('the server pushes although it was told not to');
      default: // PRIORITY and unknown types mean nothing to a client.
    }
  }

  data(flags: number, stream: number, length: number): void {
    if (this.#headers !== undefined) throw new Error('a header block is interrupted');
    this.#dataId = stream;
    this.#dataFlags = flags;
    this.#dataStream = this.#streams.get(stream);
    this.#received += length;
    if (this.#received >= receiveWindow / 2) {
      this.#write(windowUpdate(0, this.#received));
      this.#received = 0;
    }
    const open = this.#dataStream;
    if (open === undefined) return;
    open.bytes += length;
    open.received += length;
    if (open.received >= receiveWindow / 2 && (flags & flag.endStream) === 0) {
      this.#write(windowUpdate(stream, open.received));
      open.received = 0;
    }
  }

  dataEnd(): void {
    const open = this.#dataStream;
    this.#dataStream = undefined;
    if (open === undefined || this.#streams.get(this.#dataId) !== open) return;
    if ((this.#dataFlags & flag.endStream) !== 0) this.#complete(this.#dataId, open);
  }

  #connected(): void {
    if (this.#stage !== 'connect') return;
    const now = performance.now();
    this.#record.phase('connect', now - this.#stageStart);
    this.#stageStart = now;
    this.#stage = 'tls';
  }

  #ready(alpn: string | undefined): void {
    if (this.#stage === 'closed') return;
    const now = performance.now();
    this.#record.phase('tls', now - this.#stageStart);
    if (alpn !== 'h2') {
      const waiting = this.#waiting;
      this.#waiting = [];
      this.close();
      this.#pool.notHttp2(waiting);
      return;
    }
    this.#stage = 'exchange';
    this.#pool.made(true);
    this.#together(() => {
      this.#write(hello());
      this.#openWaiting(now);
    });
  }

  #mayOpen(): boolean {
    return this.#streams.size < (this.#settled ? this.#maxStreams : Math.min(unsettledStreams, this.#maxStreams));
  }

  /** As many as the server takes; once that is known, what is beyond goes another way. */
  #openWaiting(now: number): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let opened = 0;
    while (opened < waiting.length && this.#mayOpen()) this.#open(waiting[opened++]!, now);
    const rest = waiting.slice(opened);
    if (rest.length === 0) return;
    if (this.#settled) this.#pool.move(rest);
    else this.#waiting = rest;
  }

  #open(exchange: Exchange, now: number): void {
    const id = this.#nextStream;
    this.#nextStream += 2;
    if (this.#nextStream > lastStream) this.#draining = true;
    exchange.stream = id;
    exchange.writtenAt = now;
    exchange.firstByteAt = 0;
    const stream: Stream = { exchange, status: 0, bytes: 0, sent: 0, sendWindow: this.#initialWindow, received: 0 };
    this.#streams.set(id, stream);
    const { body } = this.#request;
    const end = body === undefined && this.#request.rule !== 'connect' ? flag.endStream : 0;
    const first = this.#block.subarray(0, this.#maxFrame);
    this.#write(frameOf(frame.headers, end | (first.length === this.#block.length ? flag.endHeaders : 0), id, first));
    for (let at = first.length; at < this.#block.length; at += this.#maxFrame) {
      const part = this.#block.subarray(at, at + this.#maxFrame);
      this.#write(frameOf(frame.continuation, at + part.length === this.#block.length ? flag.endHeaders : 0, id, part));
    }
    if (body !== undefined) this.#sendBody(id, stream, body);
  }

  /** As much of the request's body as the server's windows take. */
  #sendBody(id: number, stream: Stream, body: Buffer): void {
    while (stream.sent < body.length) {
      const bytes = Math.min(this.#maxFrame, body.length - stream.sent, this.#sendWindow, stream.sendWindow);
      if (bytes <= 0) return;
      const last = stream.sent + bytes === body.length;
      this.#write(frameOf(frame.data, last ? flag.endStream : 0, id, body.subarray(stream.sent, stream.sent + bytes)));
      stream.sent += bytes;
      stream.sendWindow -= bytes;
      this.#sendWindow -= bytes;
    }
  }

  #sendBodies(): void {
    const { body } = this.#request;
    if (body !== undefined) for (const [id, stream] of this.#streams) this.#sendBody(id, stream, body);
  }

  #data(buffer: Buffer, length: number): void {
    if (this.#stage === 'closed') return;
    this.#lastData = performance.now();
    this.#together(() => {
      try {
        this.#reader.take(buffer, length);
      } catch (error) {
        this.#broken('protocol', error instanceof Error ? error.message : String(error));
      }
    });
  }

  #headerPart(stream: number, flags: number, part: Buffer): void {
    if ((flags & flag.endHeaders) !== 0 && this.#headers === undefined) {
      this.#headersDone(stream, flags, part);
      return;
    }
    this.#headers ??= { stream, flags, parts: [], bytes: 0 };
    this.#headers.parts.push(Buffer.from(part));
    this.#headers.bytes += part.length;
    if (this.#headers.bytes > maxHeadBytes) throw new Error(`the response head is longer than ${maxHeadBytes} bytes`);
    if ((flags & flag.endHeaders) === 0) return;
    const { parts, flags: firstFlags } = this.#headers;
    this.#headers = undefined;
    this.#headersDone(stream, firstFlags, Buffer.concat(parts));
  }

  #headersDone(id: number, flags: number, block: Buffer): void {
    const status = readStatus(block);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    if (stream.exchange.firstByteAt === 0) {
      stream.exchange.firstByteAt = this.#lastData;
      this.#record.phase('firstByte', this.#lastData - stream.exchange.writtenAt);
    }
    if (stream.status === 0 && status >= 200) stream.status = status;
    else if (stream.status === 0 && status === 0) throw new Error('a response has no status');
    if ((flags & flag.endStream) !== 0) this.#complete(id, stream);
    else if (this.#request.rule === 'connect' && stream.status >= 200 && stream.status < 300) {
      this.#write(resetStream(id, cancelStream));
      this.#complete(id, stream);
    }
  }

  #complete(id: number, stream: Stream): void {
    const { exchange, status, bytes } = stream;
    this.#streams.delete(id);
    const now = this.#lastData;
    if (status === 0) {
      this.#pool.failure(exchange, now, 'protocol', 'the response ended before its head', bytes);
      return;
    }
    // It answered before it read the whole body: the rest is not sent.
    if (this.#request.body !== undefined && stream.sent < this.#request.body.length) this.#write(resetStream(id, 0));
    this.#record.phase('transfer', now - exchange.firstByteAt);
    this.#served += 1;
    this.#closeWhenDrained();
    this.#pool.success(exchange, now, status, bytes);
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      if (id === setting.maxConcurrentStreams) this.#maxStreams = Math.max(1, Math.min(value, assumedStreams * 10));
      else if (id === setting.maxFrameSize && value >= defaultMaxFrame) this.#maxFrame = Math.min(value, defaultMaxFrame);
      else if (id === setting.initialWindowSize) {
        for (const stream of this.#streams.values()) stream.sendWindow += value - this.#initialWindow;
        this.#initialWindow = value;
      }
    }
    this.#write(frameOf(frame.settings, flag.ack, 0, Buffer.alloc(0)));
    this.#settled = true;
    this.#pool.streamsLearnt = this.#maxStreams;
    this.#openWaiting(this.#lastData);
    this.#pool.ready(this.#lastData);
    this.#sendBodies();
  }

  #widen(stream: number, bytes: number): void {
    if (stream === 0) this.#sendWindow += bytes;
    else {
      const open = this.#streams.get(stream);
      if (open !== undefined) open.sendWindow += bytes;
    }
    this.#sendBodies();
  }

  #reset(id: number, code: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#streams.delete(id);
    this.#closeWhenDrained();
    const message = `the server reset the stream: ${errorName(code)}`;
    if (code === refusedStream) this.#pool.lost(stream.exchange, this.#lastData, 'reset', message, true);
    else this.#pool.failure(stream.exchange, this.#lastData, 'reset', message, stream.bytes);
  }

  /** Streams above `last` were not processed, the others are still answered. */
  #goAway(last: number, code: number): void {
    this.#draining = true;
    for (const [id, stream] of this.#streams) {
      if (id <= last) continue;
      this.#streams.delete(id);
      this.#pool.lost(stream.exchange, this.#lastData, 'closed', `the server closed the connection: ${errorName(code)}`, true);
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const exchange of waiting) this.#pool.lost(exchange, this.#lastData, 'closed', `the server closed the connection: ${errorName(code)}`, true);
    this.#closeWhenDrained();
  }

  #closeWhenDrained(): void {
    if (this.#draining && this.#streams.size === 0 && this.#waiting.length === 0) this.close();
  }

  #broken(code: ProbeErrorCode, message: string): void {
    if (this.#stage === 'closed') return;
    const open = this.#stage === 'exchange' && code !== 'protocol';
    const kept = open && this.#served > 0;
    const now = performance.now();
    const streams = [...this.#streams.values()];
    const waiting = this.#waiting;
    this.#streams.clear();
    this.#waiting = [];
    this.close();
    for (const { exchange, status, bytes } of streams) {
      if (kept && exchange.firstByteAt === 0 && status === 0) this.#pool.lost(exchange, now, code, message);
      else this.#pool.failure(exchange, now, code, code === 'closed' && exchange.firstByteAt > 0 ? 'the server closed the connection in the middle of its answer' : message, bytes);
    }
    for (const exchange of waiting) {
      if (open) this.#pool.lost(exchange, now, code, message, true);
      else this.#pool.failure(exchange, now, code, message);
    }
  }

  #write(bytes: Buffer): void {
    if (this.#stage !== 'exchange') return;
    if (this.#out === undefined) this.#socket.write(bytes);
    else this.#out.push(bytes);
  }

  /** Gathers everything that `work` writes into one write. */
  #together(work: () => void): void {
    this.#out = [];
    work();
    const out = this.#out;
    this.#out = undefined;
    if (out.length > 0 && this.#stage === 'exchange') this.#socket.write(out.length === 1 ? out[0]! : Buffer.concat(out));
  }
}
