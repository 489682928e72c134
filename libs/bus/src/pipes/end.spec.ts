import { setImmediate as soon } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { PipeItem } from '../pipe.ts';
import { windowCost } from './credit.ts';
import { PipeEnd } from './end.ts';
import { decodeFrame, encodeFrame } from './frame.ts';

const ends: PipeEnd[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.abort('the test is over');
});

/** Two ends over a link in memory; `fate` says what becomes of the n-th frame from the left side. */
function pair(options: { fate?: (index: number, frame: Uint8Array) => Uint8Array | undefined; keepAliveMs?: number } = {}): { left: PipeEnd; right: PipeEnd; flying: () => number } {
  let flying = 0;
  let index = 0;
  const later = (deliver: () => void, bytes: number): void => {
    flying += bytes;
    setImmediate(() => {
      flying -= bytes;
      deliver();
    });
  };
  const { fate = (_: number, frame: Uint8Array): Uint8Array | undefined => frame } = options;
  const left: PipeEnd = new PipeEnd('left', { send: (frame) => later(() => {
    const arrives = fate(index, frame);
    index += 1;
    if (arrives) right.receive(arrives);
  }, frame.length), room: () => undefined }, options);
  const right: PipeEnd = new PipeEnd('right', { send: (frame) => later(() => left.receive(frame), frame.length), room: () => undefined }, options);
  ends.push(left, right);
  return { left, right, flying: () => flying };
}

async function all(end: PipeEnd): Promise<PipeItem[]> {
  const items: PipeItem[] = [];
  for await (const item of end.incoming) items.push(item);
  return items;
}
const bytesOf = (items: readonly PipeItem[], channel: number): Buffer => Buffer.concat(items.flatMap((item) => (item.channel === channel && 'bytes' in item ? [item.bytes] : [])));

describe('a pipe', () => {
  it('carries any writes on any channels both ways, in order, cut as it likes, and each end of a channel after its bytes', async () => {
    const writes = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 0, max: 400_000 }).map((size) => Buffer.alloc(size, size % 251)))), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(writes, writes, async (up, down) => {
        const { left, right } = pair();
        const send = async (end: PipeEnd, given: typeof up): Promise<void> => {
          await Promise.all(given.map(([channel, bytes]) => end.write(channel, bytes)));
          await Promise.all([0, 1, 2, 3].map((channel) => end.end(channel)));
        };
        const take = async (end: PipeEnd): Promise<PipeItem[]> => {
          const items: PipeItem[] = [];
          let open = 4;
          for await (const item of end.incoming) {
            items.push(item);
            if ('end' in item && (open -= 1) === 0) break;
          }
          return items;
        };
        const [, , atLeft, atRight] = await Promise.all([send(left, up), send(right, down), take(left), take(right)]);
        for (const [sent, got] of [[up, atRight], [down, atLeft]] as const) {
          for (const channel of [0, 1, 2, 3]) {
            expect(bytesOf(got, channel).equals(Buffer.concat(sent.filter(([on]) => on === channel).map(([, bytes]) => bytes)))).toBe(true);
            const ofChannel = got.filter((item) => item.channel === channel);
            expect(ofChannel.findIndex((item) => 'end' in item)).toBe(ofChannel.length - 1);
          }
        }
        await left.close({ exitCode: 3 });
        expect(await right.closed).toEqual({ exitCode: 3 });
      }),
      { numRuns: 40 },
    );
  });

  it('never shows a hole: what is lost, cut, doubled or changed on the way breaks both ends', async () => {
    const fates: Record<string, (frame: Uint8Array) => Uint8Array | undefined> = {
      lost: () => undefined,
      cut: (frame) => frame.subarray(0, 3),
      old: (frame) => Buffer.from([...frame.subarray(0, 2), 0, 0, 0, 0, ...frame.subarray(6)]),
      unknown: (frame) => Buffer.from([99, ...frame.subarray(1)]),
    };
    for (const [name, change] of Object.entries(fates)) {
      for (const at of [1, 2, 5]) {
        const { left, right } = pair({ fate: (index, frame) => (index === at ? change(frame) : frame), keepAliveMs: 20 });
        const got: number[] = [];
        const reading = (async () => {
          for await (const item of right.incoming) if ('bytes' in item) got.push(...item.bytes);
        })();
        const writing = (async () => {
          for (let value = 0; value < 6; value += 1) await left.write(1, Uint8Array.of(value));
        })();
        await expect(reading).rejects.toThrow(/lost|damaged/);
        await writing.catch(() => undefined);
        expect({ name, got }).toEqual({ name, got: Array.from({ length: at }, (_, value) => value) });
        expect((await left.closed).broken).toBe((await right.closed).broken);
        await expect(left.write(1, Uint8Array.of(1))).rejects.toThrow(/lost|damaged/);
      }
    }
  });

  it('notices a lost last frame by the next keep-alive, and a side that falls silent', async () => {
    const lost = pair({ fate: (index, frame) => (index === 0 ? undefined : frame), keepAliveMs: 20 });
    await lost.left.write(1, Uint8Array.of(1));
    expect((await lost.right.closed).broken).toMatch(/lost/);
    const silent = pair({ fate: () => undefined, keepAliveMs: 20 });
    expect((await silent.right.closed).broken).toMatch(/nothing was heard/);
    expect((await silent.left.closed).broken).toMatch(/nothing was heard/);
  });

  it('stays open while nothing is said, for longer than a silence may last', async () => {
    const { left, right } = pair({ keepAliveMs: 10 });
    await new Promise((resolve) => setTimeout(resolve, 150));
    const reading = all(right);
    await left.write(0, Uint8Array.of(7));
    await left.close();
    expect(bytesOf(await reading, 0)).toEqual(Buffer.of(7));
  });

  it('holds no more than its window for a reader that does not come, also of single bytes, and goes on when it does', async () => {
    for (const size of [1, 100, 300_000]) {
      const { left, right, flying } = pair();
      const total = 6 << 20;
      let sent = 0;
      const writing = (async () => {
        const chunk = Buffer.alloc(size, 1);
        const writes = size === 1 ? 20_000 : size === 100 ? 20_000 : Math.ceil(total / size);
        for (let n = 0; n < writes; n += 1) {
          await left.write(1, chunk);
          sent += size;
        }
        await left.close();
      })();
      for (let turn = 0; turn < 200; turn += 1) await soon();
      const stuckAt = sent;
      expect(stuckAt).toBeLessThanOrEqual(windowCost);
      expect(flying()).toBe(0);
      const got = bytesOf(await all(right), 1).length;
      await writing;
      expect(got).toBe(sent);
      expect(sent).toBeGreaterThan(stuckAt);
    }
  });

  it('breaks with a sender that takes more than it was granted', async () => {
    const right = new PipeEnd('right', { send: () => undefined, room: () => undefined });
    ends.push(right);
    for (let sequence = 0; sequence < 40; sequence += 1) right.receive(encodeFrame({ kind: 'data', channel: 1, sequence, bytes: Buffer.alloc(64 << 10) }));
    expect((await right.closed).broken).toMatch(/more than it was granted/);
  });

  it('tells the outcome once, after everything written, to the side that did not close; who closed reads no more', async () => {
    const { left, right } = pair();
    const writes = Promise.all([left.write(1, Buffer.alloc(900_000)), left.write(1, Buffer.alloc(900_000))]);
    const closing = left.close({ exitCode: 7, error: 'why' });
    const items = await all(right);
    await Promise.all([writes, closing]);
    expect(bytesOf(items, 1).length).toBe(1_800_000);
    expect(await right.closed).toEqual({ exitCode: 7, error: 'why' });
    expect(await left.closed).toEqual({ exitCode: 7, error: 'why' });
    expect(await all(left)).toEqual([]);
    await expect(left.write(1, Buffer.of(1))).rejects.toThrow('closed');
    await expect(right.write(1, Buffer.of(1))).rejects.toThrow('why');
    await left.close({ exitCode: 1 });
    expect(await left.closed).toEqual({ exitCode: 7, error: 'why' });
  });

  it('aborts at once: what waits is dropped, the other side learns why, also while it does not read', async () => {
    const { left, right } = pair();
    const stuck = left.write(0, Buffer.alloc(5 << 20));
    await soon();
    left.abort('the client went away');
    await expect(stuck).rejects.toThrow('the client went away');
    expect(await right.closed).toEqual({ error: 'the client went away' });
  });

  it('does not say of a write that waited for the connection that it was sent, when the pipe was aborted', async () => {
    const connection = Promise.withResolvers<void>();
    const sent: Uint8Array[] = [];
    const left = new PipeEnd('left', { send: (frame) => void sent.push(frame), room: () => connection.promise });
    const waiting = left.write(0, Buffer.of(1));
    await soon();
    left.abort('the client went away');
    connection.resolve();
    await expect(waiting).rejects.toThrow('the client went away');
    expect(sent.map((frame) => decodeFrame(frame).kind)).toEqual(['close']);
  });

  it('refuses to write after the end of a channel, and channels that cannot be', async () => {
    const { left, right } = pair();
    await left.end(0);
    await left.end(0);
    await expect(left.write(0, Buffer.of(1))).rejects.toThrow('ended');
    await left.write(1, Buffer.of(1));
    expect(() => left.write(256, Buffer.of(1))).toThrow(RangeError);
    const reading = all(right);
    await left.close();
    expect(await reading).toEqual([{ channel: 0, end: true }, { channel: 1, bytes: Buffer.of(1) }]);
  });
});

it('frames read back as they were written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.uint8Array(), (channel, sequence, bytes) => {
      expect(decodeFrame(encodeFrame({ kind: 'data', channel, sequence, bytes }))).toEqual({ kind: 'data', channel, sequence, bytes: Buffer.from(bytes) });
      expect(decodeFrame(encodeFrame({ kind: 'end', channel, sequence }))).toEqual({ kind: 'end', channel, sequence });
      expect(decodeFrame(encodeFrame({ kind: 'credit', granted: sequence, sequence }))).toEqual({ kind: 'credit', granted: sequence, sequence });
      expect(decodeFrame(encodeFrame({ kind: 'close', sequence, ending: { exitCode: channel } }))).toEqual({ kind: 'close', sequence, ending: { exitCode: channel } });
    }),
  );
});
