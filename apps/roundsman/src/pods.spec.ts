import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { unlessLacking } from '@roundsman/testkit';
import { Home, type State } from './home.ts';
import { unmountToRemove } from './mounted.ts';
import { endPods } from './pods.ts';

const lacking = process.getuid?.() === 0 ? undefined : 'mounting needs root';

unlessLacking(lacking, describe)('pods that end with their home', () => {
  let folder: string;
  let home: Home;
  let daemon: Server;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'roundsman-pods-'));
    const docker = join(folder, 'docker.sock');
    // One that has no containers any more.
    daemon = createServer((request, response) => response.setHeader('content-type', 'application/json').end(request.url?.includes('/json') === true ? '[]' : 'OK'));
    await new Promise<void>((resolve) => daemon.listen(docker, resolve));
    home = new Home(join(folder, 'home'));
    home.create();
    Object.assign(home, { state: () => ({ docker, nodes: ['node-1', 'node-2'] }) as unknown as State });
  });
  afterEach(() => {
    daemon.close();
    unmountToRemove(folder);
    rmSync(folder, { recursive: true, force: true });
  });

  function mount(...parts: string[]): string {
    const at = home.file('data', 'runners', ...parts);
    mkdirSync(at, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', at]);
    writeFileSync(join(at, 'token'), 'secret');
    return at;
  }
  const mounted = (): string[] => execFileSync('cat', ['/proc/self/mountinfo'], { encoding: 'utf8' }).split('\n').map((line) => line.split(' ')[4] ?? '').filter((at) => at.startsWith(folder)).sort();

  it('leave nothing mounted, on nodes that the home had before neither; volumes that are no pod’s stay', async () => {
    mount('node-1', 'pods', 'a', 'volumes', 'nats');
    mount('node-3', 'pods', 'b', 'volumes', 'nats');
    const kept = mount('node-1', 'volumes', 'kept');
    expect(await endPods(home)).toEqual({ found: 0, mounted: [] });
    expect(mounted()).toEqual([kept]);
  });

  it('end on the nodes that are named, and on no others', async () => {
    const kept = mount('node-1', 'pods', 'a', 'volumes', 'nats');
    mount('node-2', 'pods', 'b', 'volumes', 'nats');
    await endPods(home, ['node-2']);
    expect(mounted()).toEqual([kept]);
  });
});
