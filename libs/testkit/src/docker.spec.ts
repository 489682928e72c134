import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort, startDocker, testImages, whenDocker } from './index.ts';
import type { TestDocker } from './index.ts';

interface Listed {
  readonly Id: string;
  readonly State: string;
}

async function start(docker: TestDocker, image: string, command: readonly string[], more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { Id } = (await docker.request('POST', '/containers/create', { Image: image, Cmd: command, ...more })) as { Id: string };
  await docker.request('POST', `/containers/${Id}/start`);
  return Id;
}

const stateOf = async (docker: TestDocker, id: string): Promise<string | undefined> => ((await docker.request('GET', '/containers/json?all=1')) as Listed[]).find(({ Id }) => Id === id)?.State;

whenDocker(describe)('startDocker', () => {
  let docker: TestDocker;
  let other: TestDocker;
  beforeAll(async () => {
    [docker, other] = await Promise.all([startDocker(), startDocker({ liveRestore: true })]);
    await Promise.all([docker, other].map((one) => testImages(one)));
  });
  afterAll(() => Promise.all([docker.stop(), other.stop()]));

  it('runs containers that this machine reaches by address and published port, beside another daemon', async () => {
    const port = await freePort();
    const command = ['sh', '-c', 'echo well > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'];
    const id = await start(docker, 'busybox:1.35', command, { ExposedPorts: { '8080/tcp': {} }, HostConfig: { PortBindings: { '8080/tcp': [{ HostPort: String(port) }] } } });
    const inspected = (await docker.request('GET', `/containers/${id}/json`)) as { NetworkSettings: { IPAddress: string } };
    const address = inspected.NetworkSettings.IPAddress;
    expect(address.startsWith(docker.subnet.replace('0/24', ''))).toBe(true);
    for (const host of [`127.0.0.1:${port}`, `${address}:8080`]) {
      const text = await eventually(() => fetch(`http://${host}/index.html`).then((response) => response.text()));
      expect(text).toBe('well\n');
    }
    expect(await other.request('GET', '/containers/json?all=1')).toEqual([]);
    expect(other.subnet).not.toBe(docker.subnet);
    await docker.request('DELETE', `/containers/${id}?force=1`);
  });

  it('comes back after SIGKILL; with live restore its containers do not notice', async () => {
    const [ends, lives] = await Promise.all([docker, other].map((one) => start(one, 'busybox:latest', ['sh', '-c', 'trap exit TERM; sleep 1000 & wait'])));
    for (const one of [docker, other]) {
      await one.kill('SIGKILL');
      await expect(one.request('GET', '/_ping')).rejects.toThrow();
      await one.restart();
    }
    expect(await stateOf(docker, ends ?? '')).toBe('exited');
    expect(await stateOf(other, lives ?? '')).toBe('running');
  });

  it('throws the daemon’s words', async () => {
    await expect(docker.request('POST', '/containers/create', { Image: 'nosuch:1' })).rejects.toThrow('No such image: nosuch:1');
  });

  it('leaves nothing behind', async () => {
    const third = await startDocker();
    const directory = dirname(third.socket);
    await testImages(third);
    await start(third, 'busybox:nobody', ['sleep', '1000']);
    // What others make and remove meanwhile is nothing to it: `find` calls that an error.
    const find = (...args: string[]): string => execFileSync('sh', ['-c', 'find "$@" 2>/dev/null; true', 'find', ...args], { encoding: 'utf8' });
    const shims = find(directory, '-name', 'address', '-exec', 'cat', '{}', '+').replace('unix://', '');
    const addresses = (): string => execFileSync('ip', ['-o', 'addr'], { encoding: 'utf8' });
    expect(existsSync(shims)).toBe(true);
    expect(addresses()).toContain(third.gateway);
    await third.stop();
    expect(existsSync(shims)).toBe(false);
    expect(addresses()).not.toContain(third.gateway);
    expect(existsSync(directory)).toBe(false);
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(directory);
    expect(find('/sys/fs/cgroup', '-path', `*${third.cgroupParent}*`)).toBe('');
  });
});
