/** Kinds of control frames of SPDY/3.1 that are told apart here. */
export const controlTypes = { synStream: 1, synReply: 2, reset: 3, settings: 4, ping: 6, goAway: 7, headers: 8, windowUpdate: 9 } as const;
export const finFlag = 0x01;
const unidirectionalFlag = 0x02;
const version = 3;
const headBytes = 8;
/** Control frames are read whole; a client's are tens of bytes. */
const maxControlBytes = 64 << 10;

/** Data comes as it arrives, a frame of it in one piece or in many; `fin` with the last. */
export type Frame =
  | { readonly kind: 'data'; readonly stream: number; readonly bytes: Buffer; readonly fin: boolean }
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly body: Buffer };

/** Cuts what arrives into frames. Throws on what is no SPDY/3.1. */
export class FrameParser {
  #rest: Buffer = Buffer.alloc(0);
  #data: { stream: number; left: number; fin: boolean } | undefined;

  *parse(chunk: Buffer): Generator<Frame, void, undefined> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      if (this.#data) {
        const { stream, left, fin } = this.#data;
        const piece = bytes.subarray(0, left);
        if (piece.length === 0 && left > 0) break;
        bytes = bytes.subarray(piece.length);
        this.#data = piece.length === left ? undefined : { stream, left: left - piece.length, fin };
        yield { kind: 'data', stream, bytes: piece, fin: fin && this.#data === undefined };
        continue;
      }
      if (bytes.length < headBytes) break;
      const first = bytes.readUInt32BE(0);
      const flags = bytes.readUInt8(4);
      const length = bytes.readUIntBE(5, 3);
      if (first >>> 31 === 0) {
        bytes = bytes.subarray(headBytes);
        this.#data = { stream: first, left: length, fin: (flags & finFlag) !== 0 };
        continue;
      }
      if (((first >>> 16) & 0x7fff) !== version) throw new Error(`a frame of SPDY version ${(first >>> 16) & 0x7fff}; 3 is spoken here`);
      if (length > maxControlBytes) throw new Error(`a control frame of ${length} bytes; at most ${maxControlBytes} are read`);
      if (bytes.length < headBytes + length) break;
      const body = bytes.subarray(headBytes, headBytes + length);
      bytes = bytes.subarray(headBytes + length);
      yield { kind: 'control', type: first & 0xffff, flags, body };
    }
    this.#rest = bytes;
  }
}

export function controlFrame(type: number, flags: number, body: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(((1 << 31) | (version << 16) | type) >>> 0, 0);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

export function dataFrame(stream: number, bytes: Uint8Array, fin: boolean): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + bytes.length);
  frame.writeUInt32BE(stream, 0);
  frame.writeUInt8(fin ? finFlag : 0, 4);
  frame.writeUIntBE(bytes.length, 5, 3);
  frame.set(bytes, headBytes);
  return frame;
}

/** Of a SYN_STREAM. `oneWay`: nothing is to be sent back on it. */
export function synStream(flags: number, body: Buffer): { stream: number; fin: boolean; oneWay: boolean; block: Buffer } {
  if (body.length < 10) throw new Error('a SYN_STREAM that is too short');
  return { stream: body.readUInt32BE(0) & 0x7fffffff, fin: (flags & finFlag) !== 0, oneWay: (flags & unidirectionalFlag) !== 0, block: body.subarray(10) };
}

/** 4 bytes of a number after another: a body of RST_STREAM, GOAWAY, PING, or the start of SYN_REPLY. */
export function numbers(...values: number[]): Buffer {
  const body = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) body.writeUInt32BE(value >>> 0, 4 * index);
  return body;
}
