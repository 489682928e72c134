import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { FakeAgent } from './fake-agent.ts';
import { KubectlCluster, kubectlPath, type Ran } from './kubectl-cluster.ts';

let cluster: KubectlCluster;
let agent: FakeAgent;
const kubectl = (args: readonly string[], options: { input?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Ran> => cluster.kubectl(args, options);

const manifest = (name: string, containers: readonly string[], node?: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels: { app: name } }, spec: { ...(node === undefined ? {} : { nodeName: node }), containers: containers.map((one) => ({ name: one, image: 'any', stdin: true })) } });
/** A pod that runs on the fake node. */
async function pod(name: string, containers: readonly string[] = ['main']): Promise<void> {
  await cluster.must(['create', '-f', '-'], { input: manifest(name, containers, 'node-1') });
  await agent.running(JSON.parse(await cluster.must(['get', 'pod', name, '-o', 'json'])) as Pod);
}

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  const folder = join(cluster.folder, 'node');
  mkdirSync(folder);
  agent = new FakeAgent('node-1', await cluster.nats.connect('agent-node-1'), folder);
  await agent.start();
  await pod('web', ['main']);
  await pod('two', ['a', 'b']);
  await cluster.must(['create', '-f', '-'], { input: manifest('waits', ['main']) });
  await cluster.must(['create', '-f', '-'], { input: manifest('lost', ['main'], 'node-2') });
}, 120_000);
afterAll(async () => {
  await agent?.stop();
  await cluster?.stop();
});

/** How many streams have ended at the agent, once all have that were begun. */
const endings = async (): Promise<number> => {
  await eventually(() => expect(agent.open).toBe(0));
  return agent.endings.length;
};

/** Over WebSocket as kubectl does by itself, and over SPDY as older clients do. */
const ways = [
  { way: 'WebSocket', env: {} },
  { way: 'SPDY', env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' } },
];

describe('logs', () => {
  it('prints what there is, with the options passed on', async () => {
    agent.logs.set('web/main', ['one\n', 'two\n']);
    const before = Date.now();
    expect(await cluster.must(['logs', 'web', '--tail=5', '--since=10s', '--timestamps', '--previous', '--limit-bytes=100'])).toBe('one\ntwo\n');
    expect(agent.asked.at(-1)).toMatchObject({ pod: 'web', purpose: { kind: 'logs', container: 'main', follow: false, previous: true, timestamps: true, tailLines: 5, limitBytes: 100 } });
    const { sinceMs } = agent.asked.at(-1)!.purpose as { sinceMs: number };
    expect(sinceMs).toBeGreaterThanOrEqual(before - 10_000);
    expect(sinceMs).toBeLessThanOrEqual(Date.now() - 10_000);
    agent.logs.set('two/b', ['of b\n']);
    expect(await cluster.must(['logs', 'two', '-c', 'b', '--since-time=2026-01-01T00:00:00Z'])).toBe('of b\n');
    expect(agent.asked.at(-1)).toMatchObject({ purpose: { sinceMs: Date.parse('2026-01-01T00:00:00Z') } });
    expect((await kubectl(['logs', 'two'])).stderr).toContain('Defaulted container "a" out of: a, b');
  });

  it('follows as it comes, carries much, and lets go of the agent when kubectl is gone', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${'x'.repeat(100)}\n`);
    agent.logs.set('web/main', lines);
    expect(await cluster.must(['logs', '-f', 'web'])).toBe(lines.join(''));
    let more: (line: string) => void = () => undefined;
    agent.logs.set('web/main', (async function* () {
      for (;;) yield await new Promise<string>((resolve) => (more = resolve));
    })());
    const ended = await endings();
    const asked = agent.asked.length;
    const child = spawn(kubectlPath(), ['logs', '-f', 'web'], { env: cluster.kubectlEnv() });
    const seen = collected(child);
    await eventually(() => expect(agent.asked.slice(asked)).toMatchObject([{ purpose: { follow: true } }]));
    for (const line of ['first\n', 'second\n']) {
      const want = seen() + line;
      await eventually(() => {
        more(line);
        expect(seen()).toContain(want);
      }, { every: 50 });
    }
    child.kill('SIGKILL');
    await eventually(() => {
      more('nobody hears this\n');
      expect(agent.endings.length).toBe(ended + 1);
    });
    expect(agent.endings.at(-1)).toEqual({ error: 'the client went away' });
  });

  it('refuses in the words of Kubernetes', async () => {
    const log = async (path: string): Promise<unknown> => {
      const { status, json } = await cluster.http(`/api/v1/namespaces/default/pods/${path}`);
      return [status, json['reason'], json['message']];
    };
    expect(await log('two/log')).toEqual([400, 'BadRequest', 'a container name must be specified for pod two, choose one of: [a b]']);
    expect(await log('two/log?container=x')).toEqual([400, 'BadRequest', 'container x is not valid for pod two']);
    expect(await log('nobody/log')).toEqual([404, 'NotFound', 'pods "nobody" not found']);
    expect(await log('web/log?tailLines=-1')).toEqual([422, 'Invalid', 'PodLogOptions "" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0']);
    expect(await log('web/log?tailLines=x')).toEqual([400, 'BadRequest', expect.stringContaining('tailLines must be a whole number')]);
    expect(await log('web/log?sinceSeconds=0&limitBytes=0')).toEqual([422, 'Invalid', 'PodLogOptions "" is invalid: [limitBytes: Invalid value: 0: must be greater than 0, sinceSeconds: Invalid value: 0: must be greater than 0]']);
    expect(await log('web/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z')).toEqual([422, 'Invalid', expect.stringContaining('at most one of `sinceTime` or `sinceSeconds` may be specified')]);
    expect(await log('web/log?sinceTime=yesterday')).toEqual([400, 'BadRequest', expect.stringContaining('sinceTime must be a time')]);
    // On no node yet: nothing was said.
    expect((await cluster.http('/api/v1/namespaces/default/pods/waits/log')).text).toBe('');
    expect(await log('lost/log')).toEqual([503, 'ServiceUnavailable', 'node "node-2" cannot be reached: its agent does not answer']);
    agent.refusals.set('web', new ServiceError(400, 'container "main" in pod "web" is waiting to start: ContainerCreating'));
    const refused = await kubectl(['logs', 'web']);
    agent.refusals.clear();
    expect(refused).toMatchObject({ code: 1, stderr: 'Error from server (BadRequest): container "main" in pod "web" is waiting to start: ContainerCreating\n' });
  });

  it('ends the connection in a way that shows when the agent is lost', async () => {
    agent.logs.set('web/main', (async function* () {
      yield 'begun\n';
      await new Promise(() => undefined);
    })());
    const child = spawn(kubectlPath(), ['logs', '-f', 'web'], { env: cluster.kubectlEnv() });
    const seen = collected(child);
    await eventually(() => expect(seen()).toContain('begun'));
    const closed = once(child, 'close');
    await cluster.nats.restart();
    expect(await closed).toEqual([1, null]);
    expect(seen()).toMatch(/unexpected EOF/);
    // The next one finds everything back.
    agent.logs.set('web/main', ['again\n']);
    await eventually(async () => expect(await kubectl(['logs', 'web'])).toMatchObject({ code: 0, stdout: 'again\n' }));
  });
});

describe.each(ways)('exec over $way', ({ env }) => {
  it('gives output, errors and the exit code of the program', async () => {
    expect(await kubectl(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2'], { env })).toMatchObject({ code: 0, stdout: 'out\n', stderr: 'err\n' });
    expect(agent.asked.at(-1)).toMatchObject({ pod: 'web', purpose: { kind: 'exec', container: 'main', command: ['sh', '-c', 'echo out; echo err >&2'], stdin: false, stdout: true, stderr: true, tty: false } });
    const seven = await kubectl(['exec', 'two', '-c', 'b', '--', 'sh', '-c', 'exit 7'], { env });
    expect(seven).toMatchObject({ code: 7, stderr: expect.stringContaining('command terminated with exit code 7') });
    expect((await kubectl(['exec', 'web', '--', '/no/such/program'], { env })).stderr).toMatch(/ENOENT/);
    // The command travels in the URL.
    const long = 'x'.repeat(40_000);
    expect((await kubectl(['exec', 'web', '--', 'printf', long], { env })).stdout).toBe(long);
  });

  it('ends stdin where the client ends it, and carries much both ways unchanged', async () => {
    const sent = randomBytes(3 << 20);
    const input = sent.toString('base64');
    const ran = await kubectl(['exec', '-i', 'web', '--', 'cat'], { input, env });
    expect(ran.code).toBe(0);
    expect(createHash('sha256').update(ran.stdout).digest('hex')).toBe(createHash('sha256').update(input).digest('hex'));
    expect((await kubectl(['exec', '-i', 'web', '--', 'sha256sum'], { input: 'abc', env })).stdout).toContain('ba7816bf');
  });

  it('copies files in and out', async () => {
    const bytes = randomBytes(1 << 20);
    writeFileSync(join(cluster.folder, 'up.bin'), bytes);
    await cluster.must(['cp', join(cluster.folder, 'up.bin'), `web:${agent.folder}/there.bin`], { env });
    expect(readFileSync(join(agent.folder, 'there.bin')).equals(bytes)).toBe(true);
    await cluster.must(['cp', `web:${agent.folder}/there.bin`, join(cluster.folder, 'back.bin')], { env });
    expect(readFileSync(join(cluster.folder, 'back.bin')).equals(bytes)).toBe(true);
  });

  it('gives a terminal its size, and its program the end when kubectl goes', async () => {
    const ended = await endings();
    agent.sizes.length = 0;
    // script(1) gives kubectl a terminal.
    const child = spawn('script', ['-qec', `stty cols 101 rows 31; exec ${kubectlPath()} exec -it web -- sh -c 'echo ready; cat'`, '/dev/null'], { env: cluster.kubectlEnv(env) });
    const seen = collected(child);
    await eventually(() => expect(seen()).toContain('ready'));
    await eventually(() => expect(agent.sizes.at(-1)).toEqual({ Width: 101, Height: 31 }));
    expect(agent.asked.at(-1)).toMatchObject({ purpose: { tty: true, stdin: true, stderr: false } });
    child.stdin?.write('typed\n');
    await eventually(() => expect(seen()).toMatch(/typed/));
    child.kill('SIGKILL');
    await eventually(() => expect(agent.endings.length).toBe(ended + 1));
  });

  it('is refused before the connection is taken over', async () => {
    expect((await kubectl(['exec', 'two', '-c', 'x', '--', 'true'], { env })).stderr).toContain('container x is not valid for pod two');
    expect((await kubectl(['exec', 'waits', '--', 'true'], { env })).stderr).toContain('pod waits does not have a host assigned');
    expect((await kubectl(['exec', 'lost', '--', 'true'], { env })).stderr).toContain('node "node-2" cannot be reached');
    expect((await kubectl(['exec', 'nobody', '--', 'true'], { env })).stderr).toContain('pods "nobody" not found');
    agent.refusals.set('web', new ServiceError(500, 'container not found ("main")'));
    expect((await kubectl(['exec', 'web', '--', 'true'], { env })).stderr).toContain('container not found ("main")');
    agent.refusals.clear();
  });

  it('attach reaches the program that runs', async () => {
    expect(await kubectl(['attach', '-i', 'web'], { input: 'hello\n', env })).toMatchObject({ code: 0, stdout: expect.stringContaining('hello\n') });
    expect(agent.asked.at(-1)).toMatchObject({ purpose: { kind: 'attach', container: 'main', stdin: true } });
  });
});

it('a stream asked for without an upgrade, without a token or in no protocol that is spoken is refused with a Status', async () => {
  const path = '/api/v1/namespaces/default/pods/web/exec?command=true&stdout=true';
  expect(await cluster.http(path)).toMatchObject({ status: 400, json: { reason: 'BadRequest', message: expect.stringContaining('Upgrade request required') } });
  expect((await cluster.http(path, { method: 'DELETE' })).status).toBe(405);
  const upgrade = (headers: readonly string[], key = 'dGhlIHNhbXBsZSBub25jZQ=='): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(cluster.url).port), '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => (text += String(chunk))).once('error', reject).once('close', () => resolve(text));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${headers.map((one) => `${one}\r\n`).join('')}\r\n`);
    });
  expect(await upgrade(['Sec-WebSocket-Protocol: v5.channel.k8s.io'])).toMatch(/^HTTP\/1\.1 401 [^]*"reason":"Unauthorized"/);
  expect(await upgrade([`Authorization: Bearer ${cluster.token}`, 'Sec-WebSocket-Protocol: chat'])).toMatch(/^HTTP\/1\.1 400 [^]*v5\.channel\.k8s\.io/);
  const before = await endings();
  expect(await upgrade([`Authorization: Bearer ${cluster.token}`, 'Sec-WebSocket-Protocol: v4.channel.k8s.io'], 'none')).toMatch(/^HTTP\/1\.1 400 /);
  await eventually(() => expect(agent.endings.length).toBe(before + 1));
});

describe.each(ways)('port-forward over $way', ({ env }) => {
  it('carries 8 MB both ways on each of several connections, and half closes', async () => {
    const echo = await listening((socket) => socket.pipe(socket));
    const { port, stop } = await forward('web', portOf(echo), env);
    const once8 = async (): Promise<void> => {
      const sent = randomBytes(8 << 20);
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.end(sent);
      const hash = createHash('sha256');
      for await (const chunk of socket) hash.update(chunk as Buffer);
      expect(hash.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'));
    };
    await Promise.all([once8(), once8(), once8()]);
    for (let count = 0; count < 20; count += 1) expect(await ask(port, `hello ${count}`)).toBe(`hello ${count}`);
    await stop();
    echo.close();
  });

  it('serves one connection after another that its server ends first', async () => {
    const greeter = await listening((socket) => socket.end('x'.repeat(100_000)));
    const { port, seen, stop } = await forward('web', portOf(greeter), env);
    for (let count = 0; count < 20; count += 1) {
      let got = 0;
      for await (const chunk of connect({ port, host: '127.0.0.1' })) got += (chunk as Buffer).length;
      expect(got).toBe(100_000);
    }
    expect(seen()).not.toMatch(/error/);
    await stop();
    greeter.close();
  });

  it('goes on when clients hang up early', async () => {
    // As an HTTP server: much to every request, then waits for the client's end.
    const server = await listening((socket) => {
      socket.once('data', () => socket.write(Buffer.alloc(4 << 20, 'x'))).once('end', () => socket.end());
    });
    const { port, seen, stop } = await forward('web', portOf(server), env);
    const hangUp = async (round: number): Promise<void> => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined).write('GET / HTTP/1.1\r\n\r\n');
      await once(socket, round % 3 === 0 ? 'connect' : 'data');
      if (round % 2 === 0) socket.destroy();
      else socket.resetAndDestroy();
    };
    for (let round = 0; round < 30; round += 1) await hangUp(round);
    await Promise.all(Array.from({ length: 10 }, (_, round) => hangUp(round)));
    const last = connect({ port, host: '127.0.0.1' });
    last.write('still there?');
    await once(last, 'data');
    last.destroy();
    expect(seen()).not.toMatch(/error forwarding|lost connection/);
    await stop();
    server.close();
  });

  it('says which port nothing listens on', async () => {
    // The near end of a connection: nobody listens there, and as long as it is open nobody can.
    const far = await listening(() => undefined);
    const near = connect(portOf(far), '127.0.0.1');
    await once(near, 'connect');
    const dead = near.localPort as number;
    const { port, seen, stop } = await forward('web', dead, env);
    expect(await ask(port, 'anyone?').catch(() => '')).toBe('');
    await eventually(() => expect(seen()).toMatch(/error forwarding port \d+ to pod web, uid [0-9a-f-]+: .*connect ECONNREFUSED/));
    await stop();
    near.destroy();
    far.close();
  });
});

/** kubectl port-forward that listens. */
async function forward(name: string, port: number, env: NodeJS.ProcessEnv): Promise<{ port: number; seen: () => string; stop: () => Promise<void> }> {
  const child = spawn(kubectlPath(), ['port-forward', `pod/${name}`, `:${port}`], { env: cluster.kubectlEnv(env) });
  const seen = collected(child);
  const local = await eventually(() => {
    const [, found] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(seen()) ?? [];
    if (found === undefined) throw new Error(`port-forward does not listen yet: ${seen()}`);
    return Number(found);
  });
  return {
    port: local,
    seen,
    stop: async () => {
      if (child.exitCode !== null) return;
      child.kill();
      await once(child, 'close');
    },
  };
}

function collected(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  return () => text;
}

async function listening(serve: (socket: import('node:net').Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function ask(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
