import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { encodeJson, InvalidPayload } from './codec.ts';
import { SharedDecoder } from './decoded.ts';

const schema = z.object({ version: z.number(), text: z.string().optional() });
const bytes = (version: number, text?: string): Uint8Array => encodeJson({ version, text });

describe('what several subscriptions of a process receive', () => {
  it('is decoded once for all of them, and then forgotten', () => {
    const decoder = new SharedDecoder();
    for (let count = 0; count < 3; count++) decoder.join();
    const [first, second, third, fourth] = Array.from({ length: 4 }, () => decoder.decode(schema, bytes(1), 'a'));
    expect(first).toEqual({ version: 1 });
    expect([second, third]).toEqual([first, first]);
    expect([second === first, third === first, fourth === first]).toEqual([true, true, false]);
  });
  it('is decoded anew when it is not the same, and where there is one subscription only', () => {
    const decoder = new SharedDecoder();
    const leave = decoder.join();
    expect(decoder.decode(schema, bytes(1), 'a')).not.toBe(decoder.decode(schema, bytes(1), 'a'));
    decoder.join();
    const first = decoder.decode(schema, bytes(1), 'a');
    expect(decoder.decode(schema, bytes(2), 'a')).toEqual({ version: 2 });
    expect(decoder.decode(schema, bytes(1), 'b')).not.toBe(first);
    leave();
    expect(decoder.decode(schema, bytes(3), 'c')).not.toBe(decoder.decode(schema, bytes(3), 'c'));
  });
  it('is not kept without bounds', () => {
    const decoder = new SharedDecoder();
    decoder.join();
    decoder.join();
    const many = Array.from({ length: 1000 }, (_, index) => decoder.decode(schema, bytes(index), `s.${index}`));
    const again = many.map((one, index) => decoder.decode(schema, bytes(index), `s.${index}`) === one);
    expect(again.slice(0, 700)).not.toContain(true);
    const large = 'x'.repeat(600_000);
    const one = decoder.decode(schema, bytes(1, large), 'l.1');
    decoder.decode(schema, bytes(2, large), 'l.2');
    expect(decoder.decode(schema, bytes(1, large), 'l.1')).not.toBe(one);
  });
  it('is refused for each of them when it is wrong', () => {
    const decoder = new SharedDecoder();
    decoder.join();
    decoder.join();
    for (let turn = 0; turn < 2; turn++) expect(() => decoder.decode(schema, encodeJson({ version: 'x' }), 'a')).toThrow(InvalidPayload);
  });
});
