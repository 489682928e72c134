import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib';
import { dictionary } from './dictionary.ts';

/** Names in lower case; the values of one name are separated by NUL. */
export type Headers = ReadonlyMap<string, string>;

/** Bytes that the headers of one stream may come to. */
const maxHeaderBytes = 64 << 10;

/** Reads the header blocks of one direction, which are one zlib stream: in their order, one at a time. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary, finishFlush: constants.Z_SYNC_FLUSH });
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor() {
    this.#inflate
      .on('data', (chunk: Buffer) => {
        this.#chunks.push(chunk);
        this.#bytes += chunk.length;
        if (this.#bytes > maxHeaderBytes) this.#inflate.destroy();
      })
      // Told by `read`; one that comes between two reads must not end the process.
      .on('error', () => undefined);
  }

  /** Rejects when the block cannot be read; nothing after it can then. */
  async read(block: Buffer): Promise<Headers> {
    await new Promise<void>((resolve, reject) => {
      this.#inflate.once('error', reject);
      this.#inflate.write(block, (error) => {
        this.#inflate.off('error', reject);
        if (error) reject(error);
        else resolve();
      });
    });
    if (this.#bytes > maxHeaderBytes) throw new Error(`the headers of a stream are larger than ${maxHeaderBytes} bytes`);
    const text = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    return parse(text);
  }

  close(): void {
    this.#inflate.destroy();
  }
}

/** Writes them, likewise. */
export class HeaderWriter {
  readonly #deflate: Deflate = createDeflate({ dictionary });
  #chunks: Buffer[] = [];

  constructor() {
    this.#deflate.on('data', (chunk: Buffer) => this.#chunks.push(chunk)).on('error', () => undefined);
  }

  async write(headers: Headers): Promise<Buffer> {
    this.#deflate.write(format(headers));
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    const block = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return block;
  }

  close(): void {
    this.#deflate.destroy();
  }
}

/** Count of pairs, then each name and value with its length before it; all numbers are 4 bytes. */
function parse(text: Buffer): Headers {
  let at = 0;
  const number = (): number => {
    if (at + 4 > text.length) throw new Error('the headers of a stream end too early');
    at += 4;
    return text.readUInt32BE(at - 4);
  };
  const word = (): string => {
    const length = number();
    if (at + length > text.length) throw new Error('the headers of a stream end too early');
    at += length;
    return text.toString('utf8', at - length, at);
  };
  const headers = new Map<string, string>();
  for (let left = number(); left > 0; left -= 1) headers.set(word().toLowerCase(), word());
  return headers;
}

function format(headers: Headers): Buffer {
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const word = (value: string): Buffer => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);
  return Buffer.concat([number(headers.size), ...[...headers].flatMap(([name, value]) => [word(name), word(value)])]);
}
