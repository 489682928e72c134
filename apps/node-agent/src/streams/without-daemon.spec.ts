import { Duplex, PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { messages, type Bus, type Pipe, type PipeRequest } from '@roundsman/bus';
import { FakePodRuntime } from '@roundsman/containers';
import { startNats, type TestNats } from '@roundsman/testkit';
import { NodeStats } from '../stats/node-stats.ts';
import { PodStreams } from './pod-streams.ts';
import type { PodsOnNode } from './pods-on-node.ts';

const target = { namespace: 'default', pod: 'web', podUid: 'u1' };
const exec: PipeRequest['purpose'] = { kind: 'exec', container: 'main', command: ['true'], stdin: false, stdout: true, stderr: true, tty: false };

describe('streams and stats while the daemon is away, or behaves badly', () => {
  const runtime = new FakePodRuntime();
  const pods: PodsOnNode = {
    workers: new Map([['u1', { pod: { metadata: { name: 'web', namespace: 'default', uid: 'u1' } } as Pod, runs: new Map([['main', [{ id: 'c1', state: 'running', startedAt: 1 }]]]) }]]),
  };
  let nats: TestNats;
  let gateway: Bus;
  let streams: PodStreams;
  let stats: NodeStats;
  beforeAll(async () => {
    nats = await startNats();
    gateway = await nats.connect('gateway');
    const agent = await nats.connect('agent');
    streams = new PodStreams(agent, 'node-1', runtime, pods);
    stats = new NodeStats(agent, 'node-1', 1, runtime, pods);
    await Promise.all([streams.start(), stats.start()]);
  });
  afterAll(async () => {
    await Promise.all([streams.stop(), stats.stop()]);
    await nats.stop();
  });
  const open = (purpose: PipeRequest['purpose']): Promise<Pipe> => gateway.openPipe('node-1', { ...target, purpose });

  it('say so, and work again when it is back', async () => {
    runtime.unavailable = 'the Docker daemon at /var/run/docker.sock is not running: start it';
    await expect(open(exec)).rejects.toMatchObject({ code: 503, message: runtime.unavailable });
    await expect(gateway.request(messages.nodeStats, { node: 'node-1' }, {})).rejects.toThrow('is not running');
    runtime.unavailable = undefined;
    runtime.usage.set('c1', { atMs: Date.now(), cpuNanos: 5_000_000n, memoryWorkingSetBytes: 4096 });
    const { pods: told } = await gateway.request(messages.nodeStats, { node: 'node-1' }, {});
    expect(told).toEqual([{ namespace: 'default', name: 'web', uid: 'u1', containers: [{ name: 'main', cpuNanoCores: expect.any(Number), memoryBytes: 4096 }] }]);
  });

  it('tell the reason when a forwarded connection breaks in the middle', async () => {
    const socket = new PassThrough();
    runtime.connection = () => socket;
    const pipe = await open({ kind: 'port', port: 80 });
    socket.destroy(new Error('read ECONNRESET'));
    expect(await pipe.closed).toMatchObject({ error: 'read ECONNRESET' });
  });

  it('a forwarded connection that the pod has ended still takes what the client says', async () => {
    let taken = '';
    const socket = new Duplex({
      read() {
        this.push('bye');
        this.push(null);
      },
      write(chunk: Buffer, _, done) {
        taken += chunk.toString();
        done();
      },
    });
    runtime.connection = () => socket;
    const pipe = await open({ kind: 'port', port: 80 });
    const said: unknown[] = [];
    for await (const item of pipe.incoming) {
      said.push('end' in item ? 'end' : Buffer.from(item.bytes).toString());
      if ('end' in item) break;
    }
    await pipe.write(0, Buffer.from('thanks'));
    await pipe.end(0);
    expect(await pipe.closed).toEqual({});
    expect([said, taken]).toEqual([['bye', 'end'], 'thanks']);
  });

  it('attach is over when the output is, whether or not the container has ended', async () => {
    jest.spyOn(runtime, 'attach').mockResolvedValue({ stdin: undefined, stdout: Readable.from([]), stderr: undefined, resize: async () => undefined, exitCode: new Promise(() => undefined) });
    const pipe = await open({ kind: 'attach', container: 'main', stdin: false, stdout: true, stderr: true, tty: true });
    expect(await pipe.closed).toEqual({});
  });

  it('a command whose end nobody knows has not succeeded', async () => {
    jest.spyOn(runtime, 'exec').mockResolvedValue({ stdin: undefined, stdout: Readable.from([]), stderr: undefined, resize: async () => undefined, exitCode: Promise.resolve(undefined) });
    const pipe = await open(exec);
    expect(await pipe.closed).toMatchObject({ error: 'the exit code of the command is not known: the container runtime does not tell' });
  });

  it('a size that is none leaves the input of a program alone', async () => {
    const echo = new PassThrough();
    const sizes: number[] = [];
    const resize = async (columns: number): Promise<void> => void sizes.push(columns);
    jest.spyOn(runtime, 'exec').mockResolvedValue({ stdin: echo, stdout: echo, stderr: undefined, resize, exitCode: Promise.resolve(0) });
    const pipe = await open({ ...exec, stdin: true, tty: true });
    for (const [channel, text] of [[4, 'no size'], [4, '{"Width":80,"Height":24}'], [0, 'typed']] as const) await pipe.write(channel, Buffer.from(text));
    await pipe.end(0);
    const said: string[] = [];
    for await (const item of pipe.incoming) if ('bytes' in item) said.push(Buffer.from(item.bytes).toString());
    expect([said.join(''), sizes, await pipe.closed]).toEqual(['typed', [80], { exitCode: 0 }]);
  });

  it('let go of the pod’s side when the client goes', async () => {
    const socket = new PassThrough();
    runtime.connection = () => socket;
    const pipe = await open({ kind: 'port', port: 80 });
    pipe.abort('the client went away');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.destroyed).toBe(true);
  });
});
