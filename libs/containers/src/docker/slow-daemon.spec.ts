import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { Daemon } from './daemon.ts';
import { RuntimeEvents } from './events.ts';
import { attachTo } from './sessions.ts';
import { FakeDaemon } from './testing/fake-daemon.ts';

describe('a daemon that is slow, or errs', () => {
  it('is not left with connections of requests that were given up', async () => {
    await using fake = await FakeDaemon.start(() => undefined);
    const daemon = new Daemon(fake.socket);
    await daemon.client();
    // Until one has come so far that there is a connection to be left.
    await eventually(async () => {
      const asked = daemon.ask('Unavailable', (docker, abortSignal) => docker.listContainers({ abortSignal }), 100);
      await expect(asked).rejects.toMatchObject({ code: 'Unavailable', message: `the Docker daemon at ${fake.socket} does not answer` });
      expect(fake.accepted).toBeGreaterThan(0);
    });
    await eventually(() => expect(fake.connections).toBe(0));
  });

  it('is not left with a stream that it opened too late', async () => {
    let opened = false;
    await using fake = await FakeDaemon.start((_, response) => void setTimeout(() => response.writeHead(200).write('{}\n', () => (opened = true)), 300));
    const daemon = new Daemon(fake.socket);
    await daemon.client();
    await expect(daemon.ask('Unavailable', (docker) => docker.getEvents(), 100)).rejects.toMatchObject({ code: 'Unavailable' });
    await eventually(() => expect(opened && fake.connections === 0).toBe(true));
  });

  it('has one stream of events at most, however often the list fails', async () => {
    let lists = 0;
    await using fake = await FakeDaemon.start((request, response) => {
      if (request.url?.startsWith('/events') === true) return void response.writeHead(200).flushHeaders();
      lists += 1;
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"no disk"}');
    });
    const events = new RuntimeEvents(new Daemon(fake.socket), { cluster: 'home', node: 'node-1' });
    events.listen(() => undefined);
    await eventually(() => expect(lists).toBeGreaterThanOrEqual(3));
    // The stream of this try, and the connection that is kept for the next request.
    await eventually(() => expect(fake.connections).toBeLessThanOrEqual(2));
    await events.close();
  });

  it('is asked how a program ended until it knows: its output ends before', async () => {
    let looks = 0;
    await using fake = await FakeDaemon.start((request, response) => {
      if (request.url?.includes('/attach') === true) return void response.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' }).end();
      looks += 1;
      // The first look is at its configuration.
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ Config: { Tty: false }, State: { Running: looks < 4, ExitCode: looks < 4 ? 0 : 4 } }));
    });
    const daemon = new Daemon(fake.socket);
    const session = await attachTo(daemon, 'c1', { stdin: false, tty: false }, new AbortController().signal);
    session.stdout.resume();
    session.stderr?.resume();
    expect(await session.exitCode).toBe(4);
    daemon.close();
  });

  it('is not asked to size a terminal whose program has ended', async () => {
    let sizes = 0;
    await using fake = await FakeDaemon.start((request, response) => {
      if (request.url?.includes('/attach') === true) return void response.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' }).end();
      if (request.url?.includes('/resize') === true) return void (sizes += 1, response.writeHead(409, { 'content-type': 'application/json' }).end('{"message":"is not running"}'));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ Config: { Tty: true }, State: { Running: false, ExitCode: 0 } }));
    });
    const daemon = new Daemon(fake.socket);
    const session = await attachTo(daemon, 'c1', { stdin: true, tty: true }, new AbortController().signal);
    session.stdout.resume();
    await session.exitCode;
    await session.resize(80, 24);
    expect(sizes).toBe(0);
    session.stdin?.destroy();
    daemon.close();
  });

  it('costs no look at every connection for each request', async () => {
    let looks = 0;
    Object.defineProperty(Socket.prototype, inspect.custom, { configurable: true, value: () => `look ${(looks += 1)}` });
    try {
      await using fake = await FakeDaemon.start((_, response) => void setTimeout(() => response.end('[]'), 50));
      const daemon = new Daemon(fake.socket);
      for (let round = 0; round < 2; round += 1) await Promise.all(Array.from({ length: 8 }, () => daemon.ask('Unavailable', (docker) => docker.listContainers())));
      expect(looks).toBe(0);
      daemon.close();
    } finally {
      Reflect.deleteProperty(Socket.prototype, inspect.custom);
    }
  });
});
