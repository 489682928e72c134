import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, whenDocker } from '@roundsman/testkit';
import type { ExecSession } from '../pod-runtime.ts';
import { PodConnections } from './connection/pod-connections.ts';
import { Daemon } from './daemon.ts';
import { ContainerStatistics } from './stats/container-stats.ts';
import { PodLab, never } from './testing/pod-lab.ts';
import { containerOf, forEver } from './testing/pods.ts';

interface Said {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
}

async function all({ stdout, stderr, exitCode }: ExecSession): Promise<Said> {
  const [out, err] = await Promise.all([text(stdout), stderr === undefined ? '' : text(stderr)]);
  return { stdout: out, stderr: err, exitCode: await exitCode };
}

whenDocker(describe)('streams of containers on Docker', () => {
  let lab: PodLab;
  let uid: string;
  let id: string;
  beforeAll(async () => {
    lab = await PodLab.start();
    const { spec, container } = await lab.run(forEver);
    [uid, id] = [spec.podUid, container.id];
  });
  afterAll(() => lab?.stop());

  describe('logs', () => {
    it('hold both outputs in order, and end with the container', async () => {
      const { printed } = await lab.outcome('echo one; sleep 0.05; echo two >&2; sleep 0.05; printf three');
      expect(printed).toBe('one\ntwo\nthree');
    });

    it('are cut by lines, by time and by bytes, and carry times', async () => {
      const { spec, container } = await lab.run('echo one; echo two; sleep 2; date +%s; echo four');
      await lab.ended(container.id);
      const logs = (more: object): Promise<string> => lab.output(container.id, { follow: false, ...more });
      const third = (await logs({})).split('\n')[2] ?? '';
      // When the daemon has read them: a busy one does so later.
      const [, second = 0, thirdAt = 0] = (await logs({ timestamps: true })).split('\n').map((line) => Date.parse(line.split(' ')[0] ?? ''));
      expect(await logs({ tailLines: 1 })).toBe('four\n');
      expect(await logs({ tailLines: 0 })).toBe('');
      expect(await logs({ sinceMs: (second + thirdAt) / 2 })).toBe(`${third}\nfour\n`);
      expect(await logs({ limitBytes: 6 })).toBe('one\ntw');
      expect((await logs({ timestamps: true })).split('\n')[0]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z one$/);
      await lab.runtime.removePod(spec.podUid);
      await expect(logs({})).rejects.toMatchObject({ code: 'NotFound' });
    });

    it('that are JSON, or of a terminal, come as they are', async () => {
      const { printed } = await lab.outcome(`echo '{"a":1}'`, { tty: true });
      expect(printed).toBe('{"a":1}\r\n');
      const { spec, container } = await lab.run(`echo '{"a":1}'`, { tty: true });
      await lab.ended(container.id);
      expect(await lab.output(container.id, { follow: false })).toBe('{"a":1}\r\n');
      await lab.runtime.removePod(spec.podUid);
    });

    it('with times have one at the beginning of a line, however long that is', async () => {
      const { spec, container } = await lab.run('head -c 40000 /dev/zero | tr "\\0" x; echo; echo short');
      await lab.ended(container.id);
      for (const follow of [false, true]) expect(await lab.output(container.id, { timestamps: true, follow })).toMatch(/^\S+Z x{40000}\n\S+Z short\n$/);
      expect(await lab.output(container.id)).toMatch(/^x{40000}\nshort\n$/);
      await lab.runtime.removePod(spec.podUid);
    });

    it('of much output arrive whole, also when it ends at once', async () => {
      for (let round = 0; round < 3; round += 1) {
        const { printed } = await lab.outcome('seq 1 60000');
        expect(printed.length).toBe(348_894);
        expect(printed.endsWith('\n60000\n')).toBe(true);
      }
    });

    it('stop when nobody wants them any more', async () => {
      const stop = new AbortController();
      const stream = await lab.runtime.logs(id, { follow: true, timestamps: false }, stop.signal);
      const ended = text(stream).catch((error: Error) => error.message);
      stop.abort();
      expect(await ended).toEqual(expect.any(String));
    });
  });

  describe('exec', () => {
    const exec = (script: string, more: { stdin?: boolean; tty?: boolean } = {}): Promise<ExecSession> =>
      lab.runtime.exec(id, { command: ['sh', '-c', script], stdin: false, tty: false, ...more }, never);

    it('has both outputs and the exit code', async () => {
      expect(await all(await exec('echo out; echo err >&2; exit 7'))).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 });
    });

    it('tells the program that its input has ended, and gives what it says then', async () => {
      const session = await exec('cat; echo end', { stdin: true });
      session.stdin?.write('some ');
      session.stdin?.end('input\n');
      expect(await all(session)).toEqual({ stdout: 'some input\nend\n', stderr: '', exitCode: 0 });
    });

    it('carries megabytes both ways, whatever they are', async () => {
      const bytes = Buffer.alloc(5 << 20, 'abc\0\xff');
      const session = await exec('cat', { stdin: true });
      const back = session.stdout.toArray() as Promise<Buffer[]>;
      session.stdin?.end(bytes);
      expect(Buffer.concat(await back).equals(bytes)).toBe(true);
      expect(await session.exitCode).toBe(0);
    });

    it('has a terminal of the size that was told', async () => {
      const session = await exec('until stty size 2>/dev/null | grep -q 132; do sleep 0.1; done; stty size', { tty: true });
      await session.resize(132, 43);
      expect(session.stderr).toBeUndefined();
      expect(await all(session)).toEqual({ stdout: '43 132\r\n', stderr: '', exitCode: 0 });
    });

    it('of a command that is not there ends with the daemon’s words', async () => {
      const said = await all(await lab.runtime.exec(id, { command: ['no-such-command'], stdin: false, tty: false }, never));
      expect([126, 127]).toContain(said.exitCode);
      expect(said.stdout).toContain('no-such-command');
    });

    it('in a container that has ended, or never was, is a problem', async () => {
      const { spec, container } = await lab.run('true');
      await lab.ended(container.id);
      const options = { command: ['true'], stdin: false, tty: false };
      await expect(lab.runtime.exec(container.id, options, never)).rejects.toMatchObject({ code: 'Exec', message: expect.stringContaining('is not running') as unknown });
      await expect(lab.runtime.exec('0123456789ab', options, never)).rejects.toMatchObject({ code: 'NotFound' });
      await lab.runtime.removePod(spec.podUid);
    });
  });

  it('attach reaches the program itself, and knows how it ended', async () => {
    const { spec, container } = await lab.run('read line; echo "got $line"; exit 4', { stdin: true, stdinOnce: true });
    const session = await lab.runtime.attach(container.id, { stdin: true, tty: false }, never);
    session.stdin?.write('a line\n');
    expect(await all(session)).toEqual({ stdout: 'got a line\n', stderr: '', exitCode: 4 });
    await lab.runtime.removePod(spec.podUid);
  });

  describe('connect', () => {
    it('reaches what listens on the pod’s localhost only', async () => {
      const { spec } = await lab.run('echo hello > /tmp/index.html; exec httpd -f -p 127.0.0.1:9000 -h /tmp');
      await eventually(async () => {
        const socket = await lab.runtime.connect(spec.podUid, 9000, never);
        socket.write('GET /index.html HTTP/1.0\r\n\r\n');
        expect(await text(socket)).toMatch(/^HTTP\/1.[01] 200 OK[^]*hello\n$/);
      });
      await lab.runtime.removePod(spec.podUid);
    });

    it('carries bytes both ways, also of servers that speak first, and half closes', async () => {
      const { spec } = await lab.run('while :; do nc -l -p 9001 -e sh -c "echo hello; wc -c; echo done"; done');
      const socket = await eventually(() => lab.runtime.connect(spec.podUid, 9001, never));
      const said = text(socket);
      socket.end(Buffer.alloc(3 << 20, 'x'));
      expect(await said).toBe(`hello\n${3 << 20}\ndone\n`);
      await lab.runtime.removePod(spec.podUid);
    });

    it('reaches the pod also after its sandbox was started again', async () => {
      const { spec, sandbox, container } = await lab.run(forEver);
      await expect(lab.runtime.connect(spec.podUid, 9003, never)).rejects.toThrow('ECONNREFUSED');
      await lab.docker.request('POST', `/containers/${sandbox.id}/kill`);
      await lab.runtime.removeContainer(container.id);
      await lab.runtime.startSandbox(spec);
      await lab.runtime.startContainer(containerOf(spec, sandbox.id, 'while :; do echo hello | nc -l -p 9003; done'));
      await eventually(async () => expect(await text(await lab.runtime.connect(spec.podUid, 9003, never))).toBe('hello\n'));
      await lab.runtime.removePod(spec.podUid);
    });

    it('says that nobody listens, or that there is no such pod', async () => {
      await expect(lab.runtime.connect(uid, 9999, never)).rejects.toMatchObject({ message: expect.stringContaining('failed to connect to localhost:9999 inside the pod: connect ECONNREFUSED') as unknown });
      await expect(lab.runtime.connect('no-such-uid', 80, never)).rejects.toMatchObject({ code: 'NotFound' });
    });

    it('goes to the pod’s address where its network may not be entered', async () => {
      const daemon = new Daemon(lab.docker.socket);
      const connections = new PodConnections(daemon, false);
      const { spec, sandbox } = await lab.run('echo hello > /tmp/index.html; exec httpd -f -p 9002 -h /tmp', {}, { network: await lab.network(30) });
      await eventually(async () => {
        const socket = await connections.connect(sandbox.id, 9002, never);
        socket.write('GET /index.html HTTP/1.0\r\n\r\n');
        expect(socket.remoteAddress).toBe(sandbox.addresses[0]);
        expect(await text(socket)).toMatch(/hello\n$/);
      });
      await lab.runtime.removePod(spec.podUid);
      daemon.close();
    });

    it('goes to this machine for a pod on its network', async () => {
      const server = createServer((socket) => socket.end('from the host')).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const [spec] = await lab.pod({ network: { kind: 'host' } });
      const socket = await lab.runtime.connect(spec.podUid, (server.address() as { port: number }).port, never);
      expect(await text(socket)).toBe('from the host');
      server.close();
      await lab.runtime.removePod(spec.podUid);
    });
  });

  it('stats are asked of the daemon where its cgroups cannot be seen', async () => {
    const daemon = new Daemon(lab.docker.socket);
    // A process id that is not the container's here, as that of a daemon in another process namespace.
    const stats = await new ContainerStatistics(daemon).read(new Map([[id, process.pid], ['0123456789ab', process.pid]]));
    expect([...stats.keys()]).toEqual([id]);
    expect(stats.get(id)?.cpuNanos).toBeGreaterThan(0n);
    expect(stats.get(id)?.memoryWorkingSetBytes).toBeGreaterThan(4096);
    daemon.close();
  });

  it('stats tell processor time and memory of those that run', async () => {
    const busy = await lab.run('while :; do :; done');
    const ended = await lab.run('true');
    await lab.ended(ended.container.id);
    const beganMs = performance.now();
    const first = (await lab.runtime.stats([busy.container.id])).get(busy.container.id);
    const used = await eventually(async () => {
      const stats = await lab.runtime.stats([busy.container.id, id, ended.container.id, '0123456789ab']);
      expect([...stats.keys()].sort()).toEqual([busy.container.id, id].sort());
      const now = stats.get(busy.container.id);
      return now !== undefined && first !== undefined && now.cpuNanos > first.cpuNanos + 100_000_000n && { now, idle: stats.get(id) };
    });
    // One loop: no more than one processor, for as long as it was looked at.
    const seconds = (performance.now() - beganMs) / 1000;
    expect(Number(used.now.cpuNanos - (first?.cpuNanos ?? 0n)) / 1e9).toBeLessThan(seconds * 1.1 + 0.02);
    expect(used.idle?.memoryWorkingSetBytes).toBeGreaterThan(4096);
    expect(used.idle?.memoryWorkingSetBytes).toBeLessThan(50 << 20);
    for (const { spec } of [busy, ended]) await lab.runtime.removePod(spec.podUid);
  });
});
