import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus, Delivered } from '@roundsman/bus';
import { LiveStreams } from './streams.ts';

/** Only what live streams use of a bus. */
class SampleBus {
  handle: (delivered: Delivered<never>) => void = () => undefined;

  async subscribe(_message: unknown, _params: unknown, handle: (delivered: Delivered<never>) => void): Promise<{ stop: () => Promise<void> }> {
    this.handle = handle;
    return { stop: async () => undefined };
  }

  sample(task: string, note: string): void {
    this.handle({ subject: 'live', params: {}, payload: { kind: 'NetReach', namespace: 'default', task, note } as never });
  }
}

let bus: SampleBus;
let live: LiveStreams;
let server: Server;
let refused: unknown;

beforeEach(async () => {
  bus = new SampleBus();
  live = new LiveStreams(bus as unknown as Bus, { maxClients: 2, maxBuffered: 64 << 10, heartbeatMs: 30 });
  await live.start();
  refused = undefined;
  server = createServer((request, response) => {
    try {
      live.open(response, undefined, request.headers['last-event-id'] as string | undefined);
    } catch (error) {
      refused = error;
      response.writeHead(429).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await live.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const connect = (headers: Record<string, string> = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', headers }, (response) => resolve(response.on('error', () => undefined))).on('error', reject));
const textUntil = (response: IncomingMessage, pattern: RegExp): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (pattern.test(text)) resolve(text);
    });
  });

describe('LiveStreams', () => {
  it('sends events with ids, and comments while there is nothing to say', async () => {
    const response = await connect();
    expect(response.headers['content-type']).toBe('text/event-stream');
    const heard = textUntil(response, /: still here\n\n[^]*: still here\n\n/);
    bus.sample('mesh', 'hello');
    expect(await heard).toMatch(/^retry: 1000\n\n[^]*id: \w+-1\nevent: sample\ndata: \{"kind":"NetReach","namespace":"default","task":"mesh","note":"hello"\}\n\n/);
  });

  it('begin with what comes next, but for one that was here before, which gets what it missed', async () => {
    for (const note of ['one', 'two']) bus.sample('mesh', note);
    const [fresh, back] = [await connect(), await connect({ 'last-event-id': 'of-another-start' })];
    const heard = [fresh, back].map((response) => textUntil(response, /"note":"three"/));
    bus.sample('mesh', 'three');
    expect((await Promise.all(heard)).map((text) => [...text.matchAll(/"note":"(\w+)"/g)].map(([, note]) => note))).toEqual([['three'], ['one', 'two', 'three']]);
  });

  it('lets only so many in, and counts those who left', async () => {
    const first = await connect();
    await connect();
    expect((await connect()).statusCode).toBe(429);
    expect(refused).toMatchObject({ code: 429 });
    const left = new Promise((resolve) => first.once('close', resolve));
    first.destroy();
    await left;
    const late = AbortSignal.timeout(60_000);
    while (live.clients > 1) {
      if (late.aborted) throw new Error(`still ${live.clients} clients after a minute`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await connect()).statusCode).toBe(200);
  });

  it('cuts off a client that does not read, and serves the others', async () => {
    const slow = await connect();
    const good = await connect();
    const heard = textUntil(good, /"note":"the last"/);
    for (let i = 0; live.clients > 1 && i < 1000; i++) {
      bus.sample('mesh', 'x'.repeat(32 << 10));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(live.clients).toBe(1);
    bus.sample('mesh', 'the last');
    await heard;
    slow.resume();
    await new Promise((resolve) => slow.once('close', resolve));
    expect(slow.complete).toBe(false);
  });
});
