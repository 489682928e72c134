import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { drained } from './drained.ts';

describe('a stream that is full', () => {
  const full = (): PassThrough => {
    const stream = new PassThrough({ highWaterMark: 1 });
    expect(stream.write('text')).toBe(false);
    return stream;
  };
  const listeners = (stream: PassThrough): number => stream.listenerCount('drain') + stream.listenerCount('close');

  it('is waited for until it is read, and no longer', async () => {
    const stream = full();
    const before = listeners(stream);
    const waiting = drained(stream);
    stream.resume();
    await waiting;
    expect(stream.writableNeedDrain).toBe(false);
    expect(listeners(stream)).toBe(before);
  });
  it('is not waited for once it is gone', async () => {
    const stream = full();
    const waiting = drained(stream);
    stream.destroy();
    await waiting;
    await drained(stream);
  });
});
