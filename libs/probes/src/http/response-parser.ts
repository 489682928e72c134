/** Longest response head and trailer taken, bytes. */
export const maxHeadBytes = 65_536;

const head = 0;
const bodyLength = 1;
const bodyUntilClose = 2;
const chunkSize = 3;
const chunkExtension = 4;
const chunkData = 5;
const chunkEnd = 6;
const trailer = 7;

const contentLength = Buffer.from('content-length', 'latin1');
const transferEncoding = Buffer.from('transfer-encoding', 'latin1');
const connection = Buffer.from('connection', 'latin1');

/** What the parser must know of the request: whether the response can have a body at all. */
export type BodyRule = 'normal' | 'head' | 'connect';

/**
 * Parses HTTP/1.x responses from a socket, split anywhere. Nothing of the body is kept. Interim (1xx) responses are
 * skipped. One parser serves all responses of a connection: call `begin` before each.
 */
export class ResponseParser {
  status = 0;
  /** The connection can carry another request after this response. */
  keepAlive = true;
  complete = false;
  bodyBytes = 0;
  /** What is wrong with the response; nothing is parsed after it. */
  error: string | undefined;
  #state = head;
  #remaining = 0;
  #lineBytes = 0;
  #digits = 0;
  #rule: BodyRule = 'normal';
  #carry: Buffer | undefined;
  #carried = 0;

  begin(rule: BodyRule): void {
    this.status = 0;
    this.keepAlive = true;
    this.complete = false;
    this.bodyBytes = 0;
    this.error = undefined;
    this.#state = head;
    this.#carried = 0;
    this.#rule = rule;
  }

  /** Takes `buffer[from, to)`; returns where it stopped: `to`, or earlier when the response is complete or wrong. */
  take(buffer: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && !this.complete && this.error === undefined) {
      if (this.#state === head) at = this.#takeHead(buffer, at, to);
      else if (this.#state === bodyLength || this.#state === chunkData) at = this.#takeBody(at, to);
      else if (this.#state === bodyUntilClose) {
        this.bodyBytes += to - at;
        at = to;
      } else at = this.#takeChunkLine(buffer, at, to);
    }
    return at;
  }

  /** The server closed its side. True when that is the proper end of the response. */
  end(): boolean {
    if (this.#state !== bodyUntilClose || this.error !== undefined) return false;
    this.complete = true;
    return true;
  }

  #takeBody(at: number, to: number): number {
    const bytes = Math.min(to - at, this.#remaining);
    this.#remaining -= bytes;
    this.bodyBytes += bytes;
    if (this.#remaining === 0) {
      if (this.#state === bodyLength) this.complete = true;
      else this.#state = chunkEnd;
    }
    return at + bytes;
  }

  #takeHead(buffer: Buffer, from: number, to: number): number {
    if (this.#carried === 0) {
      let start = from;
      // Some servers end a body with a stray line end.
      while (start < to && (buffer[start] === 13 || buffer[start] === 10)) start += 1;
      if (start === to) return to;
      const end = this.#parseHead(buffer, start, to);
      if (end >= 0 || this.error !== undefined) return end >= 0 ? end : to;
      this.#keep(buffer, start, to);
      return to;
    }
    const before = this.#carried;
    this.#keep(buffer, from, to);
    if (this.error !== undefined) return to;
    const carry = this.#carry!;
    const headEnd = findHeadEnd(carry, Math.max(0, before - 3), this.#carried);
    if (headEnd < 0) return to;
    this.#carried = 0;
    if (this.#parseHead(carry, 0, headEnd) < 0 && this.error === undefined) this.#fail('the response head cannot be read');
    return from + (headEnd - before);
  }

  #keep(buffer: Buffer, from: number, to: number): void {
    const needed = this.#carried + to - from;
    if (needed > maxHeadBytes) {
      this.#fail(`the response head is longer than ${maxHeadBytes} bytes`);
      return;
    }
    if (this.#carry === undefined || this.#carry.length < needed) {
      const wider = Buffer.allocUnsafe(Math.max(1024, needed * 2));
      this.#carry?.copy(wider, 0, 0, this.#carried);
      this.#carry = wider;
    }
    buffer.copy(this.#carry, this.#carried, from, to);
    this.#carried = needed;
  }

  /** Returns where the head ends; -1 when it is not all there yet or wrong (`error`). */
  #parseHead(buffer: Buffer, from: number, to: number): number {
    let at = from;
    const lineStart = at;
    // "HTTP/1.x NNN"
    const prefix = Math.min(to - at, 7);
    for (let i = 0; i < prefix; i++) {
      if (buffer[at + i] !== httpOne[i]) return this.#fail('the answer is not HTTP/1.x');
    }
    while (at < to && buffer[at] !== 10) at += 1;
    if (at >= to) return -1;
    const status = digit(buffer[lineStart + 9]) * 100 + digit(buffer[lineStart + 10]) * 10 + digit(buffer[lineStart + 11]);
    const after = buffer[lineStart + 12];
    if (at - lineStart < 12 || buffer[lineStart + 8] !== 32 || !(status >= 100 && status <= 999) || (after !== 32 && after !== 13 && after !== 10)) {
      return this.#fail('the status line cannot be read');
    }
    let keepAlive = buffer[lineStart + 7] !== 48;
    let length = -1;
    let chunked = false;
    let encoded = false;
    at += 1;
    for (;;) {
      if (at >= to) return -1;
      const first = buffer[at]!;
      if (first === 10) {
        at += 1;
        break;
      }
      if (first === 13 && at + 1 < to && buffer[at + 1] === 10) {
        at += 2;
        break;
      }
      const start = at;
      let colon = -1;
      while (at < to) {
        const byte = buffer[at]!;
        if (byte === 10) break;
        if (byte === 58 && colon < 0) colon = at;
        at += 1;
      }
      if (at >= to) return -1;
      const end = buffer[at - 1] === 13 ? at - 1 : at;
      at += 1;
      if (first === 32 || first === 9) continue;
      if (colon < 0) return this.#fail('a header line has no colon');
      const nameLength = colon - start;
      if (nameLength === 14 && same(buffer, start, contentLength)) {
        const value = decimal(buffer, colon + 1, end);
        if (value < 0 || (length >= 0 && length !== value)) return this.#fail('the Content-Length cannot be read');
        length = value;
      } else if (nameLength === 17 && same(buffer, start, transferEncoding)) {
        encoded = true;
        chunked = /(^|[ \t,])chunked[ \t]*$/i.test(buffer.toString('latin1', colon + 1, end));
      } else if (nameLength === 10 && same(buffer, start, connection)) {
        const value = buffer.toString('latin1', colon + 1, end).toLowerCase();
        if (value.includes('close')) keepAlive = false;
        else if (value.includes('keep-alive')) keepAlive = true;
      }
    }
    this.#headDone(status, keepAlive, encoded, chunked, length);
    return at;
  }

  #headDone(status: number, keepAlive: boolean, encoded: boolean, chunked: boolean, length: number): void {
    // An interim response: the real one follows. 101 is final: the connection no longer speaks HTTP.
    if (status < 200 && status !== 101) return;
    this.status = status;
    // Both framings at once is an attack or a fault: the message ends by the chunks, the connection is not used again.
    this.keepAlive = keepAlive && !(encoded && length >= 0);
    const tunnel = status === 101 || (this.#rule === 'connect' && status < 300);
    if (tunnel) this.keepAlive = false;
    if (tunnel || this.#rule === 'head' || status === 204 || status === 304 || (length === 0 && !encoded)) this.complete = true;
    else if (chunked) this.#startChunk();
    else if (encoded || length < 0) {
      this.keepAlive = false;
      this.#state = bodyUntilClose;
    } else {
      this.#remaining = length;
      this.#state = bodyLength;
    }
  }

  #startChunk(): void {
    this.#state = chunkSize;
    this.#remaining = 0;
    this.#digits = 0;
    this.#lineBytes = 0;
  }

  /** The bytes between chunks: size lines, line ends, trailers. */
  #takeChunkLine(buffer: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to) {
      const byte = buffer[at++]!;
      if (this.#state === chunkEnd) {
        if (byte === 13) continue;
        if (byte !== 10) return this.#stop('a chunk is longer than its size', to);
        this.#startChunk();
        continue;
      }
      if (++this.#lineBytes > maxHeadBytes) return this.#stop('a chunk line or trailer is too long', to);
      if (this.#state === trailer) {
        if (byte === 10) {
          if (this.#digits === 0) {
            this.complete = true;
            return at;
          }
          this.#digits = 0;
        } else if (byte !== 13) this.#digits += 1;
        continue;
      }
      if (byte === 10) {
        if (this.#digits === 0) return this.#stop('a chunk has no size', to);
        this.#digits = 0;
        if (this.#remaining > 0) {
          this.#state = chunkData;
          return at;
        }
        this.#state = trailer;
        continue;
      }
      if (this.#state === chunkExtension || byte === 13) continue;
      if (byte === 59 || byte === 32 || byte === 9) {
        this.#state = chunkExtension;
        continue;
      }
      const value = hex(byte);
      if (value < 0 || this.#digits >= 13) return this.#stop('a chunk size cannot be read', to);
      this.#remaining = this.#remaining * 16 + value;
      this.#digits += 1;
    }
    return at;
  }

  #stop(error: string, at: number): number {
    this.#fail(error);
    return at;
  }

  #fail(error: string): -1 {
    this.error = error;
    this.keepAlive = false;
    return -1;
  }
}

const httpOne = Buffer.from('HTTP/1.', 'latin1');

function findHeadEnd(buffer: Buffer, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    if (buffer[at] !== 10) continue;
    if (buffer[at + 1] === 10 && at + 1 < to) return at + 2;
    if (buffer[at + 1] === 13 && buffer[at + 2] === 10 && at + 2 < to) return at + 3;
  }
  return -1;
}

function digit(byte: number | undefined): number {
  return byte !== undefined && byte >= 48 && byte <= 57 ? byte - 48 : Number.NaN;
}

function hex(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** -1 when it is not a plain number below 2^53. */
function decimal(buffer: Buffer, from: number, to: number): number {
  let at = from;
  let end = to;
  while (at < end && (buffer[at] === 32 || buffer[at] === 9)) at += 1;
  while (end > at && (buffer[end - 1] === 32 || buffer[end - 1] === 9)) end -= 1;
  if (at === end || end - at > 15) return -1;
  let value = 0;
  for (; at < end; at++) value = value * 10 + digit(buffer[at]);
  return Number.isNaN(value) ? -1 : value;
}

/** Case-insensitive comparison with a lower-case name. */
function same(buffer: Buffer, at: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i++) {
    if ((buffer[at + i]! | 32) !== name[i]) return false;
  }
  return true;
}
