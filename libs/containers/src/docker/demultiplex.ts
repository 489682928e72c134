import { PassThrough, type Readable, type Writable } from 'node:stream';

/** Frames of Docker's streams without a terminal: stream (1 stdout, 2 stderr), three zeros, length in four bytes. */
const headerBytes = 8;

/** A frame or, where a chunk ends in the middle of one, a part; `last` of its frame. */
interface Piece {
  readonly stderr: boolean;
  readonly bytes: Buffer;
  readonly last: boolean;
}

class Frames {
  #header: Buffer = Buffer.alloc(0);
  #left = 0;
  #stderr = false;

  /** What the next chunk of the stream holds. */
  take(chunk: Buffer): Piece[] {
    const pieces: Piece[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const part = rest.subarray(0, headerBytes - this.#header.length);
        this.#header = this.#header.length === 0 ? part : Buffer.concat([this.#header, part]);
        rest = rest.subarray(part.length);
        if (this.#header.length < headerBytes) break;
        this.#stderr = this.#header[0] === 2;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
      } else {
        const bytes = rest.subarray(0, this.#left);
        this.#left -= bytes.length;
        rest = rest.subarray(bytes.length);
        pieces.push({ stderr: this.#stderr, bytes, last: this.#left === 0 });
      }
    }
    return pieces;
  }
}

/**
 * Whole frames of both outputs, in the daemon's order, as many at a time as come together: of logs each is one entry, a line or 16 KiB of one.
 * Throws what the source throws.
 */
export async function* entries(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  const frames = new Frames();
  let parts: Buffer[] = [];
  for await (const chunk of source) {
    const whole: Buffer[] = [];
    for (const { bytes, last } of frames.take(chunk)) {
      parts.push(bytes);
      if (!last) continue;
      whole.push(parts.length === 1 ? bytes : Buffer.concat(parts));
      parts = [];
    }
    if (whole.length > 0) yield whole;
  }
}

/** Splits them, no faster than they are read; the end and errors of the source are theirs. A reader that goes away ends the source. */
export function split(source: Readable): { readonly stdout: Readable; readonly stderr: Readable } {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  // A reader that comes later finds the error; one that never comes must not end the process.
  for (const stream of [stdout, stderr]) stream.on('error', () => undefined);
  const pump = async (): Promise<void> => {
    const frames = new Frames();
    for await (const chunk of source as AsyncIterable<Buffer>) {
      const pieces = frames.take(chunk);
      await write(stdout, pieces.filter((piece) => !piece.stderr));
      await write(stderr, pieces.filter((piece) => piece.stderr));
    }
  };
  pump().then(
    () => [stdout, stderr].map((stream) => stream.end()),
    (error: Error) => [stdout, stderr].map((stream) => stream.destroy(error)),
  );
  return { stdout, stderr };
}

/** Resolves when they have been taken; rejects when nobody reads any more. */
const write = (target: Writable, pieces: readonly Piece[]): Promise<void> =>
  new Promise((resolve, reject) => {
    if (pieces.length === 0) resolve();
    else target.write(Buffer.concat(pieces.map(({ bytes }) => bytes)), (error) => (error ? reject(error) : resolve()));
  });
