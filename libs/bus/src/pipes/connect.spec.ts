import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';
import { eventually, startNats } from '@roundsman/testkit';
import type { TestNats } from '@roundsman/testkit';
import { agentIdentity, runnerIdentity, ServiceError, serviceIdentity, Unreachable } from '../index.ts';
import type { Bus, Pipe, PipeRequest, Subscription } from '../index.ts';
import { connectionOf } from '../nats-bus.ts';
import { openPipe, servePipes } from './connect.ts';

const node = 'node.1';
const request: Omit<PipeRequest, 'session'> = { namespace: 'default', pod: 'p', podUid: 'u', purpose: { kind: 'port', port: 80 } };
/** For tests about silence; others leave it as it is, so that a busy machine is not taken for a dead one. */
const quick = { keepAliveMs: 400 };

let nats: TestNats;
let gateway: Bus;
let agent: Bus;
let served: Subscription | undefined;

beforeAll(async () => {
  nats = await startNats({ identities: [serviceIdentity('gateway'), agentIdentity(node), agentIdentity('node-2'), runnerIdentity('r', node)] });
  gateway = await nats.connect('gateway');
  agent = await nats.connect(`agent-${node}`);
});
afterEach(async () => {
  await served?.stop();
  served = undefined;
});
afterAll(() => nats.stop());

/** The node answers every pipe with this. */
async function answering(work: (pipe: Pipe, request: PipeRequest) => Promise<void>, options: { keepAliveMs?: number } = {}): Promise<void> {
  served = await servePipes(connectionOf(agent), node, (asked) => Promise.resolve((pipe) => work(pipe, asked)), options);
}
const opened = (options: { keepAliveMs?: number } = {}): Promise<Pipe> => openPipe(connectionOf(gateway), gateway.request.bind(gateway), node, request, options);
/** Sends everything back. */
const echo = async (pipe: Pipe): Promise<void> => {
  for await (const item of pipe.incoming) {
    if ('end' in item) return pipe.end(1);
    await pipe.write(1, item.bytes);
  }
};
async function read(pipe: Pipe): Promise<{ bytes: number; sha: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const item of pipe.incoming) {
    if ('end' in item) continue;
    bytes += item.bytes.length;
    hash.update(item.bytes);
  }
  return { bytes, sha: hash.digest('hex') };
}

describe('a pipe over NATS', () => {
  it('runs with the rights of the gateway and the agent alone, through the bus, and carries the request and the outcome', async () => {
    const asked: PipeRequest[] = [];
    served = await agent.servePipes(node, (one) => {
      asked.push(one);
      return Promise.resolve(async (pipe) => {
        await pipe.write(1, Buffer.from('hello'));
        await pipe.close({ exitCode: 7 });
      });
    });
    const pipe = await gateway.openPipe(node, request);
    expect(await read(pipe)).toMatchObject({ bytes: 5 });
    expect(await pipe.closed).toEqual({ exitCode: 7 });
    expect(asked).toEqual([{ ...request, session: pipe.session }]);
    expect(gateway.health().violations).toEqual([]);
    expect(agent.health().violations).toEqual([]);
  });

  it('is refused in the words of the agent, is Unreachable where there is none', async () => {
    served = await agent.servePipes(node, () => Promise.reject(new ServiceError(400, 'container "x" in pod "p" is waiting to start: ContainerCreating')));
    await expect(gateway.openPipe(node, request)).rejects.toMatchObject({ code: 400, message: 'container "x" in pod "p" is waiting to start: ContainerCreating' });
    await expect(gateway.openPipe('node-2', request)).rejects.toThrow(Unreachable);
  });

  it('carries 8 MB both ways at once, and many pipes side by side', async () => {
    await answering(echo);
    const one = async (size: number): Promise<void> => {
      const pipe = await opened();
      const sent = randomBytes(size);
      const [got] = await Promise.all([read(pipe), pipe.write(0, sent).then(() => pipe.end(0))]);
      expect(got).toEqual({ bytes: size, sha: createHash('sha256').update(sent).digest('hex') });
      expect(await pipe.closed).toEqual({});
    };
    await one(8 << 20);
    await Promise.all(Array.from({ length: 100 }, (_, index) => one(1000 * index)));
  });

  it('waits for a slow reader and loses nothing', async () => {
    let written = 0;
    await answering(async (pipe) => {
      for (; written < 64; written += 1) await pipe.write(1, Buffer.alloc(100_000, written));
    }, quick);
    const pipe = await opened(quick);
    // Longer than silence may last: a side that is held up still says that it is there.
    await new Promise((resolve) => setTimeout(resolve, 4 * quick.keepAliveMs));
    expect(written).toBeLessThan(12);
    expect((await read(pipe)).bytes).toBe(6_400_000);
  });

  it('ends at the agent when the client goes, also while the agent waits for it', async () => {
    const endings: unknown[] = [];
    await answering(async (pipe) => {
      void pipe.closed.then((ending) => endings.push(ending));
      for (;;) await pipe.write(1, Buffer.alloc(100_000));
    });
    const pipe = await opened();
    pipe.abort('the client went away');
    await eventually(() => expect(endings).toEqual([{ error: 'the client went away' }]));
  });

  it('tells what made the agent fail', async () => {
    await answering(() => Promise.reject(new Error('no such container')));
    const pipe = await opened();
    expect(await pipe.closed).toEqual({ error: 'no such container' });
  });

  it('ends at both sides when one of them stops serving or closes its bus', async () => {
    await answering(async (pipe) => void (await pipe.closed));
    const first = await opened();
    await served?.stop();
    expect((await first.closed).error).toContain('is stopping');
    const second = await nats.connect('gateway');
    const endings: unknown[] = [];
    await answering(async (pipe) => void endings.push(await pipe.closed));
    await openPipe(connectionOf(second), second.request.bind(second), node, request);
    await second.close();
    await eventually(() => expect(endings).toEqual([{ error: 'gateway is stopping' }]));
  });

  it('breaks when the other side is killed, after three keep-alives', async () => {
    // An agent that answers and is never heard again.
    const dead = await connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed(`agent-${node}`))), inboxPrefix: '_INBOX_dead' });
    dead.subscribe('rounds.v1.node.node_1.pipe', { callback: (_, message) => void message.respond('{}') });
    await dead.flush();
    const pipe = await opened(quick);
    await dead.close();
    const began = performance.now();
    await expect(read(pipe)).rejects.toThrow('nothing was heard');
    expect((await pipe.closed).broken).toContain('nothing was heard');
    expect(performance.now() - began).toBeLessThan(quick.keepAliveMs * 30);
    await expect(pipe.write(0, Buffer.of(1))).rejects.toThrow('nothing was heard');
  });

  it('breaks at both sides when NATS is lost, and the next one opens as soon as it is back', async () => {
    const endings: { broken?: string }[] = [];
    await answering(async (pipe) => void endings.push(await pipe.closed));
    const pipe = await opened();
    await nats.kill();
    await expect(read(pipe)).rejects.toThrow('connection to NATS broke');
    await eventually(() => expect(endings).toEqual([{ broken: expect.stringContaining('connection to NATS broke') }]));
    await nats.restart();
    await eventually(() => expect([agent.health().connected, gateway.health().connected]).toEqual([true, true]));
    await served?.stop();
    await answering(echo);
    const next = await opened();
    await Promise.all([read(next), next.end(0)]);
    expect(await next.closed).toEqual({});
  });

  it('is nobody else’s: neither another node nor a runner may listen in or speak', async () => {
    await answering(echo);
    const pipe = await opened();
    for (const [identity, seed] of [['agent-node-2', nats.seed('agent-node-2')], ['runner-r', nats.seed('runner-r')]] as const) {
      const other = await connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)), inboxPrefix: `_INBOX_${identity}` });
      const refused = new Promise((resolve) => other.subscribe(`rounds.v1.pipe.node_1.${pipe.session}.up`, { callback: (error) => resolve(error?.name) }));
      other.publish(`rounds.v1.pipe.node_1.${pipe.session}.up`, Buffer.from('junk'));
      other.publish(`rounds.v1.pipe.node_1.${pipe.session}.down`, Buffer.from('junk'));
      expect(await refused).toBe('PermissionViolationError');
      await other.close();
    }
    await Promise.all([read(pipe), pipe.write(0, Buffer.from('still whole')).then(() => pipe.end(0))]);
    expect(await pipe.closed).toEqual({});
  });
});
