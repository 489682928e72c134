/** Just enough HPACK (RFC 7541) for a client that announces a dynamic table of size 0 and needs no header but :status. */

/** Static table entries of `:status`, 8 to 14. */
const statusOfIndex = [200, 204, 206, 304, 400, 404, 500];
const staticEntries = 61;

/** A header block of literals that are never indexed: the same bytes for every request, whatever the server's table. */
export function encodeHeaders(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0x00), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

function integer(value: number, prefixBits: number): Buffer {
  const most = (1 << prefixBits) - 1;
  if (value < most) return Buffer.of(value);
  const bytes = [most];
  let rest = value - most;
  while (rest >= 128) {
    bytes.push((rest & 127) | 128);
    rest >>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The status of a response's header block; 0 when it has none (trailers). Throws when the block cannot be read. */
export function readStatus(block: Buffer, from = 0, to = block.length): number {
  // The usual block begins with an indexed :status.
  let status = 0;
  const reader = new Reader(block, from, to);
  while (reader.at < to) {
    const first = block[reader.at]!;
    if (first >= 0x80) {
      const index = reader.integer(7);
      if (index === 0 || index > staticEntries) throw new Error(`header index ${index} without a dynamic table`);
      if (index >= 8 && index <= 14) status = statusOfIndex[index - 8]!;
    } else if ((first & 0xe0) === 0x20) {
      if (reader.integer(5) !== 0) throw new Error('the server enlarges the header table beyond what was allowed');
    } else {
      const index = reader.integer((first & 0xc0) === 0x40 ? 6 : 4);
      if (index > staticEntries) throw new Error(`header index ${index} without a dynamic table`);
      const named = index === 0 ? reader.isStatusName() : index >= 8 && index <= 14;
      if (named) status = reader.statusValue();
      else reader.skipText();
    }
  }
  return status;
}

/** Huffman codes of the digits: 0 to 2 have five bits, 3 to 9 have six (RFC 7541 appendix B). */
const huffmanDigits = new Map<string, number>([
  ['00000', 0], ['00001', 1], ['00010', 2],
  ['011001', 3], ['011010', 4], ['011011', 5], ['011100', 6], ['011101', 7], ['011110', 8], ['011111', 9],
]);
/** ":status" in Huffman code. */
const huffmanStatus = Buffer.from([0xb8, 0x84, 0x8d, 0x36, 0xa3]);

class Reader {
  at: number;
  readonly #block: Buffer;
  readonly #to: number;

  constructor(block: Buffer, from: number, to: number) {
    this.#block = block;
    this.at = from;
    this.#to = to;
  }

  integer(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new Error('a header length is too large');
      const byte = this.#byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  skipText(): void {
    this.#text();
  }

  isStatusName(): boolean {
    const { huffman, bytes } = this.#text();
    return huffman ? bytes.equals(huffmanStatus) : bytes.toString('latin1') === ':status';
  }

  statusValue(): number {
    const { huffman, bytes } = this.#text();
    const digits = huffman ? decodeDigits(bytes) : bytes.toString('latin1');
    if (!/^[1-9]\d\d$/.test(digits)) throw new Error('the status cannot be read');
    return Number(digits);
  }

  #text(): { huffman: boolean; bytes: Buffer } {
    const huffman = (this.#block[this.at]! & 0x80) !== 0;
    const length = this.integer(7);
    const end = this.at + length;
    if (end > this.#to) throw new Error('a header is cut off');
    const bytes = this.#block.subarray(this.at, end);
    this.at = end;
    return { huffman, bytes };
  }

  #byte(): number {
    if (this.at >= this.#to) throw new Error('a header block is cut off');
    return this.#block[this.at++]!;
  }
}

function decodeDigits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  let at = 0;
  while (digits.length < 3) {
    const five = huffmanDigits.get(bits.slice(at, at + 5));
    const found = five ?? huffmanDigits.get(bits.slice(at, at + 6));
    if (found === undefined) return '';
    digits += String(found);
    at += five === undefined ? 6 : 5;
  }
  return digits;
}
