import { describe, expect, it } from '@jest/globals';
import type { Pipe, PipeEnding, PipeItem } from '@roundsman/bus';
import { SpdyStream } from '../spdy/session.ts';
import { PortForward, type Connect } from './port-forward.ts';
import { Queue } from './queue.ts';

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** A connection into the pod that says nothing. */
function silentPipe(): Pipe {
  const incoming = new Queue<PipeItem>(1, () => 1);
  let over: (ending: PipeEnding) => void = () => undefined;
  const closed = new Promise<PipeEnding>((resolve) => (over = resolve));
  const end = (ending: PipeEnding): void => {
    incoming.end();
    over(ending);
  };
  return { session: 's', incoming, closed, write: async () => undefined, end: async () => undefined, close: async (outcome = {}) => end(outcome), abort: (error) => end({ error }) };
}

/** One connection of a client; `said`: what its error stream got. */
function connection(connect: Connect): { data: SpdyStream; said: () => string } {
  const frames: Buffer[] = [];
  const stream = (id: number, streamtype: string): SpdyStream =>
    new SpdyStream(
      id,
      new Map(Object.entries({ streamtype, port: '80', requestid: '0' })),
      async (frame) => {
        if (id === 1) frames.push(frame.subarray(8));
      },
      () => undefined,
    );
  const [error, data] = [stream(1, 'error'), stream(3, 'data')];
  const session = new PortForward(connect, 'pod web, uid 1');
  session.add(error);
  session.add(data);
  return { data, said: () => Buffer.concat(frames).toString() };
}

describe('a forwarded connection', () => {
  it('that its client gives up is no error, before it is open as after', async () => {
    const open = connection(async () => silentPipe());
    await settle();
    open.data.lost();
    let refuse: (error: Error) => void = () => undefined;
    const opening = connection(() => new Promise((_, reject) => (refuse = reject)));
    opening.data.lost();
    await settle();
    refuse(new Error('connect ECONNREFUSED'));
    await settle();
    expect([open.said(), opening.said()]).toEqual(['', '']);
  });

  it('that cannot be opened is one', async () => {
    const { said } = connection(() => Promise.reject(new Error('connect ECONNREFUSED')));
    await settle();
    expect(said()).toBe('error forwarding port 80 to pod web, uid 1: connect ECONNREFUSED');
  });
});
