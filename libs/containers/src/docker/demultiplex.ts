import { PassThrough, type Readable, type Writable } from 'node:stream';

/** Frames of Docker's streams without a terminal: stream (1 stdout, 2 stderr), three zeros, length in four bytes. */
const headerBytes = 8;

/** The frames of a stream, in pieces as the chunks are cut; `last` of its frame. Throws what the stream throws. */
async function* frames(source: AsyncIterable<Buffer>): AsyncGenerator<{ readonly stderr: boolean; readonly bytes: Buffer; readonly last: boolean }> {
  let header = Buffer.alloc(0);
  let left = 0;
  let stderr = false;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === 0) {
        const part = rest.subarray(0, headerBytes - header.length);
        header = Buffer.concat([header, part]);
        rest = rest.subarray(part.length);
        if (header.length < headerBytes) break;
        stderr = header[0] === 2;
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
      } else {
        const bytes = rest.subarray(0, left);
        left -= bytes.length;
        rest = rest.subarray(bytes.length);
        yield { stderr, bytes, last: left === 0 };
      }
    }
  }
}

/** Whole frames of both outputs, in the daemon's order: of logs each is one entry, a line or 16 KiB of one. */
export async function* entries(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const { bytes, last } of frames(source)) {
    parts.push(bytes);
    if (!last) continue;
    yield parts.length === 1 ? bytes : Buffer.concat(parts);
    parts = [];
  }
}

/** Splits them, no faster than they are read; the end and errors of the source are theirs. A reader that goes away ends the source. */
export function split(source: Readable): { readonly stdout: Readable; readonly stderr: Readable } {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const pump = async (): Promise<void> => {
    for await (const frame of frames(source as AsyncIterable<Buffer>)) await write(frame.stderr ? stderr : stdout, frame.bytes);
  };
  pump().then(
    () => [stdout, stderr].map((stream) => stream.end()),
    (error: Error) => [stdout, stderr].map((stream) => stream.destroy(error)),
  );
  return { stdout, stderr };
}

/** Resolves when it has been taken; rejects when nobody reads any more. */
const write = (target: Writable, bytes: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    target.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
