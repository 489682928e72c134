import type { Duplex } from 'node:stream';
import { drained } from '../streams/drained.ts';
import { Queue } from '../streams/queue.ts';
import { controlFrame, controlTypes, dataFrame, FrameParser, numbers, synStream, type Frame } from './frames.ts';
import { HeaderReader, HeaderWriter, type Headers } from './headers.ts';

/** Bytes of one stream that wait here for whoever takes them; more, and the connection is not read on: SPDY's own window is not kept to by kubectl. */
const waitingBytes = 1 << 20;
/** Largest data frame that is sent, so that streams take turns. */
const frameBytes = 32 << 10;
const maxStreams = 2_000;
const pingMs = 15_000;
const cancel = 5;

/** One stream that the client opened. */
export class SpdyStream {
  readonly incoming: Queue<Buffer> = new Queue<Buffer>(waitingBytes, (bytes) => bytes.length);
  /** Resolves when the client, or the connection, has given it up: not when it has come to its end. */
  readonly gone: Promise<void>;
  #giveUp!: () => void;
  #ended = false;
  #endedThere = false;

  constructor(
    readonly id: number,
    readonly headers: Headers,
    private readonly send: (frame: Buffer) => Promise<void>,
    private readonly left: () => void,
  ) {
    this.gone = new Promise((resolve) => (this.#giveUp = resolve));
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#ended; at += frameBytes) await this.send(dataFrame(this.id, bytes.subarray(at, at + frameBytes), false));
  }

  /** No more from here. */
  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#endedThere) this.left();
    await this.send(dataFrame(this.id, Buffer.alloc(0), true));
  }

  /** No more from the client. */
  endedThere(): void {
    this.#endedThere = true;
    this.incoming.end();
    if (this.#ended) this.left();
  }

  /** Neither way any more. */
  async reset(): Promise<void> {
    this.lost();
    await this.send(controlFrame(controlTypes.reset, 0, numbers(this.id, cancel)));
  }

  /** The other side, or the connection, has given it up. */
  lost(): void {
    this.#ended = true;
    this.#giveUp();
    this.incoming.drop();
    this.left();
  }
}

/**
 * The server's side of one SPDY/3.1 connection, as much of it as kubectl and Kubernetes' clients speak: streams that the client opens, their
 * data both ways, their ends, resets, pings. No flow control (they have none); a stream that nobody reads holds up its connection.
 */
export class SpdySession {
  /** Resolves when it is over, from whichever side; never rejects. */
  readonly closed: Promise<void>;
  readonly #wire: Duplex;
  readonly #onStream: (stream: SpdyStream) => void;
  readonly #reader = new HeaderReader();
  readonly #writer = new HeaderWriter();
  readonly #streams = new Map<number, SpdyStream>();
  #last = 0;
  /** While the connection takes no more: when it does again, or is gone. */
  #drained: Promise<void> | undefined;

  constructor(wire: Duplex, onStream: (stream: SpdyStream) => void) {
    this.#wire = wire;
    this.#onStream = onStream;
    wire.on('error', () => undefined);
    const gone = new Promise<void>((resolve) => wire.once('close', resolve));
    this.closed = Promise.race([this.#read(), gone]).finally(() => this.destroy());
    // A client that is gone is noticed by writing, also while nothing is read from it.
    const pings = setInterval(() => void this.#send(controlFrame(controlTypes.ping, 0, numbers(2))), pingMs);
    void this.closed.then(() => clearInterval(pings));
  }

  /** Says goodbye and ends the connection after what was written. */
  async close(): Promise<void> {
    await this.#send(controlFrame(controlTypes.goAway, 0, numbers(this.#last, 0)));
    this.#wire.end();
  }

  destroy(): void {
    for (const stream of this.#streams.values()) stream.lost();
    this.#reader.close();
    this.#writer.close();
    this.#wire.destroy();
  }

  async #read(): Promise<void> {
    const parser = new FrameParser();
    try {
      for await (const chunk of this.#wire as AsyncIterable<Buffer>) {
        for (const frame of parser.parse(chunk)) await this.#take(frame);
      }
    } catch {
      // What breaks or cannot be read ends the connection: every stream on it is lost.
    }
  }

  async #take(frame: Frame): Promise<void> {
    if (frame.kind === 'data') {
      const stream = this.#streams.get(frame.stream);
      // Reset by us, while this was on its way.
      if (stream === undefined) return;
      if (frame.bytes.length > 0) stream.incoming.push(frame.bytes);
      if (frame.fin) stream.endedThere();
      await stream.incoming.room();
      return;
    }
    const { type, flags, body } = frame;
    if (type === controlTypes.synStream) return this.#open(flags, body);
    if (type === controlTypes.ping) return body.length === 4 && body.readUInt32BE(0) % 2 === 1 ? this.#send(controlFrame(controlTypes.ping, 0, body)) : undefined;
    if (type === controlTypes.reset && body.length >= 8) this.#streams.get(body.readUInt32BE(0) & 0x7fffffff)?.lost();
    // The headers of one direction are one zlib stream: none may be passed over.
    if (type === controlTypes.headers && body.length >= 4) await this.#reader.read(body.subarray(4));
  }

  async #open(flags: number, body: Buffer): Promise<void> {
    const { stream: id, fin, oneWay, block } = synStream(flags, body);
    const headers = await this.#reader.read(block);
    if (id % 2 === 0 || id <= this.#last) throw new Error(`stream ${id} cannot be opened after ${this.#last}`);
    if (this.#streams.size >= maxStreams) throw new Error(`more than ${maxStreams} streams on one connection`);
    this.#last = id;
    const stream = new SpdyStream(id, headers, (frame) => this.#send(frame), () => this.#streams.delete(id));
    this.#streams.set(id, stream);
    if (fin) stream.endedThere();
    if (oneWay) await stream.end();
    else await this.#send(controlFrame(controlTypes.synReply, 0, Buffer.concat([numbers(id), await this.#writer.write(new Map())])));
    this.#onStream(stream);
  }

  /** Resolves when the connection takes more, or is gone. */
  async #send(frame: Buffer): Promise<void> {
    const wire = this.#wire;
    if (wire.destroyed || !wire.writable || wire.write(frame)) return;
    this.#drained ??= drained(wire).finally(() => (this.#drained = undefined));
    await this.#drained;
  }
}

