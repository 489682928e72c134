import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FrameReader } from './frame-reader.ts';
import { frame, frameOf } from './frames.ts';
import { encodeHeaders, readStatus } from './hpack.ts';

describe('readStatus', () => {
  it.each([
    ['indexed 200', [0x88], 200],
    ['indexed 500', [0x8e], 500],
    ['a size update before', [0x20, 0x89], 204],
    ['a literal with an indexed name', [0x08, 0x03, 0x32, 0x30, 0x31], 201],
    ['a literal with indexing', [0x48, 0x03, 0x33, 0x30, 0x37], 307],
    ['RFC 7541 C.6.1: 302 in Huffman code', [0x48, 0x82, 0x64, 0x02], 302],
    ['RFC 7541 C.6.2: 307 in Huffman code', [0x48, 0x83, 0x64, 0x0e, 0xff], 307],
    ['a name in Huffman code', [0x00, 0x85, 0xb8, 0x84, 0x8d, 0x36, 0xa3, 0x03, 0x34, 0x31, 0x38], 418],
    ['a name in plain text', [0x10, 0x07, ...Buffer.from(':status'), 0x03, 0x35, 0x30, 0x33], 503],
    ['headers behind it', [0x88, 0x5c, 0x82, 0x10, 0x03, 0x00, 0x01, 0x61, 0x01, 0x62], 200],
    ['trailers', [0x00, 0x01, 0x61, 0x01, 0x62], 0],
  ])('reads %s', (_, bytes, status) => {
    expect(readStatus(Buffer.from(bytes))).toBe(status);
  });

  it.each([
    ['an entry of the dynamic table', [0xbe]],
    ['a table larger than allowed', [0x3f, 0xe1, 0x1f]],
    ['a text cut off', [0x08, 0x05, 0x32]],
    ['a block cut off', [0x08]],
    ['a status that is none', [0x08, 0x03, 0x61, 0x62, 0x63]],
    ['a length without end', [0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
  ])('rejects %s', (_, bytes) => {
    expect(() => readStatus(Buffer.from(bytes))).toThrow();
  });

  it('reads what it writes, long values too', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string({ maxLength: 300 })), { maxLength: 5 }), fc.integer({ min: 100, max: 599 }), (headers, status) => {
        expect(readStatus(encodeHeaders([...headers, [':status', String(status)]]))).toBe(status);
      }),
    );
  });

  it('either reads or throws, whatever comes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        readStatus(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }));
  });
});

describe('FrameReader', () => {
  const frames = fc.array(fc.record({ type: fc.constantFrom<number>(frame.data, frame.headers, frame.settings, frame.ping, 99), flags: fc.integer({ min: 0, max: 255 }), stream: fc.integer({ min: 0, max: 0x7fff_ffff }), payload: fc.uint8Array({ maxLength: 700 }).map((p) => Buffer.from(p)) }), { maxLength: 8 });

  function read(pieces: Buffer[]): unknown[] {
    const seen: unknown[] = [];
    const reader = new FrameReader({
      frame: (type, flags, stream, payload) => void seen.push([type, flags, stream, payload.toString('hex')]),
      data: (flags, stream, length) => void seen.push([frame.data, flags, stream, length]),
      dataEnd: () => void seen.push('end'),
    });
    for (const piece of pieces) {
      const buffer = Buffer.from(piece);
      reader.take(buffer, buffer.length);
      buffer.fill(0xee);
    }
    return seen;
  }

  it('cuts frames out of a stream split anyhow', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(5000), { maxLength: 10 }), (all, cuts) => {
        const bytes = Buffer.concat(all.map((f) => frameOf(f.type, f.flags, f.stream, f.payload)));
        const at = [0, ...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const expected = all.flatMap((f): unknown[] => (f.type === frame.data ? [[f.type, f.flags, f.stream, f.payload.length], 'end'] : [[f.type, f.flags, f.stream, f.payload.toString('hex')]]));
        expect(read(at.slice(1).map((to, i) => bytes.subarray(at[i], to)))).toEqual(expected);
        expect(read([...bytes].map((byte) => Buffer.of(byte)))).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('rejects a frame that is too long', () => {
    expect(() => read([Buffer.from([0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 1])])).toThrow('longer than allowed');
  });
});
