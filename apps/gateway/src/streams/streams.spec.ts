import { describe, expect, it } from '@jest/globals';
import { array, assert, integer, property } from 'fast-check';
import { OpenStreams } from './open-streams.ts';
import { Queue } from './queue.ts';
import { endingOf, readSizes } from './remote-command.ts';
import { channelProtocols, chosenProtocol } from './websocket.ts';

describe('Queue', () => {
  it('hands over in order, makes whoever puts in wait, and lets go of both at the end', async () => {
    const queue = new Queue<number>(10, (item) => item);
    queue.push(6);
    expect(queue.full).toBe(false);
    queue.push(6);
    expect(queue.full).toBe(true);
    let went = false;
    const putting = queue.room().then(() => (went = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(went).toBe(false);
    const taking = queue[Symbol.asyncIterator]();
    expect((await taking.next()).value).toBe(6);
    await putting;
    queue.end();
    expect((await taking.next()).value).toBe(6);
    expect((await taking.next()).done).toBe(true);
  });

  it('tells an error after what came before it', async () => {
    const queue = new Queue<string>(1, () => 1);
    queue.push('a');
    queue.end(new Error('lost'));
    const taking = queue[Symbol.asyncIterator]();
    expect((await taking.next()).value).toBe('a');
    await expect(taking.next()).rejects.toThrow('lost');
  });
});

it('so many streams may be open, each counted until it is let go, all ended at once', () => {
  const open = new OpenStreams(2);
  const ended: string[] = [];
  const release = open.admit('exec', () => ended.push('exec'));
  open.admit('log', () => ended.push('log'));
  expect(() => open.admit('log', () => undefined)).toThrow(expect.objectContaining({ code: 429 }) as unknown as Error);
  expect(open.count('log')).toBe(1);
  release();
  open.admit('log', () => ended.push('another'));
  open.abortAll();
  expect(ended).toEqual(['log', 'another']);
});

it('sizes of a terminal are read whole, in parts and many at once; what is none is passed over', () => {
  const size = { Width: 100, Height: 30 };
  expect(readSizes(`${JSON.stringify(size)}\n`)).toEqual({ sizes: [size], rest: '\n' });
  expect(readSizes('{"Width":1,"Height":2}{"Width":3,"Height":4}{"Wid').sizes).toEqual([{ Width: 1, Height: 2 }, { Width: 3, Height: 4 }]);
  expect(readSizes('{"Width":-1,"Height":2}{"a":1}{broken}null').sizes).toEqual([]);
  assert(
    property(array(integer({ min: 0, max: 65_535 }), { minLength: 1, maxLength: 6 }), integer({ min: 1, max: 9 }), (widths, cut) => {
      const text = widths.map((Width) => `${JSON.stringify({ Width, Height: 1 })}\n`).join('');
      let rest = '';
      const found: number[] = [];
      for (let at = 0; at < text.length; at += cut) {
        const read = readSizes(rest + text.slice(at, at + cut));
        rest = read.rest;
        found.push(...read.sizes.map(({ Width }) => Width));
      }
      expect(found).toEqual(widths);
    }),
  );
});

it('how a program ended, as kubectl reads it', () => {
  expect(endingOf({ exitCode: 0 })).toEqual({ metadata: {}, status: 'Success' });
  expect(endingOf({})).toEqual({ metadata: {}, status: 'Success' });
  expect(endingOf({ exitCode: 137 })).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '137' }] }, code: 500 });
  expect(endingOf({ error: 'no such program' })).toMatchObject({ status: 'Failure', reason: 'InternalError', message: 'Internal error occurred: no such program' });
  // What was lost is never told as a success, whatever came before.
  expect(endingOf({ broken: 'nothing was heard', exitCode: 0 })).toMatchObject({ status: 'Failure', message: expect.stringContaining('nothing was heard') });
});

it('the protocol of a stream is the newest that both speak', () => {
  expect(chosenProtocol('v4.channel.k8s.io, v5.channel.k8s.io', channelProtocols)).toBe('v5.channel.k8s.io');
  expect(chosenProtocol('channel.k8s.io,v4.channel.k8s.io', channelProtocols)).toBe('v4.channel.k8s.io');
  expect(() => chosenProtocol('base64.channel.k8s.io', channelProtocols)).toThrow(expect.objectContaining({ code: 400 }) as unknown as Error);
  expect(() => chosenProtocol(undefined, channelProtocols)).toThrow(/asked for \(none\)/);
});
