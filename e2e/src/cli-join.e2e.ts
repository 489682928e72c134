import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
interface Node {
  readonly metadata: { readonly name: string };
  readonly status: { readonly addresses: { type: string; address: string }[]; readonly conditions: { type: string; status: string }[] };
}

const main = join(import.meta.dirname, '../../apps/roundsman/dist/main.js');
const asRoot = process.getuid?.() === 0;
/** The second machine: a network namespace with a wire of its own, in a range that no other test has. */
const third = process.pid % 254 + 1;
const net = { namespace: `rmj${process.pid}`, here: `rmja${process.pid}`.slice(0, 15), there: `rmjb${process.pid}`.slice(0, 15), address: `10.204.${third}.1`, other: `10.204.${third}.2` };
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

const folder = mkdtempSync(join(tmpdir(), 'roundsman-join-'));
const cluster = join(folder, 'cluster');
const member = join(folder, 'member');

function roundsman(home: string, args: readonly string[], prefix: readonly string[] = []): Promise<Outcome> {
  const [command = '', ...rest] = [...prefix, process.execPath, main, ...args];
  return new Promise((resolve) => {
    execFile(command, rest, { env: { ...process.env, ROUNDSMAN_HOME: home, NO_COLOR: '1', NODE_OPTIONS: '' }, cwd: '/' }, (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }));
  });
}
const there = (...args: string[]): Promise<Outcome> => roundsman(member, args, ['nsenter', `--net=/run/netns/${net.namespace}`]);

async function nodes(): Promise<Map<string, Node>> {
  const { gateway } = JSON.parse(readFileSync(join(cluster, 'state.json'), 'utf8')) as { gateway: string };
  const response = await fetch(`${gateway}/api/v1/nodes`, { headers: { authorization: `Bearer ${readFileSync(join(cluster, 'token'), 'utf8').trim()}` } });
  const { items } = (await response.json()) as { items: Node[] };
  return new Map(items.map((node) => [node.metadata.name, node]));
}
const readyOf = (node: Node | undefined): string | undefined => node?.status.conditions.find(({ type }) => type === 'Ready')?.status;

(asRoot ? describe : describe.skip)('another machine (its own network) joins', () => {
  let token = '';
  let address = '';

  beforeAll(async () => {
    ip('netns', 'add', net.namespace);
    ip('link', 'add', net.here, 'type', 'veth', 'peer', 'name', net.there, 'netns', net.namespace);
    ip('addr', 'add', `${net.address}/24`, 'dev', net.here);
    ip('link', 'set', net.here, 'up');
    ip('-n', net.namespace, 'addr', 'add', `${net.other}/24`, 'dev', net.there);
    ip('-n', net.namespace, 'link', 'set', net.there, 'up');
    ip('-n', net.namespace, 'link', 'set', 'lo', 'up');
    const started = await roundsman(cluster, ['up', '--detach', '--nodes', '1', '--docker', 'off', '--listen', net.address]);
    expect(started.stderr + started.stdout).toContain('Roundsman is up');
    const printed = await roundsman(cluster, ['token']);
    [, address = '', token = ''] = /^npx roundsman join (\S+) --token (\S+)$/m.exec(printed.stdout) ?? [];
    expect(printed).toMatchObject({ code: 0 });
  });

  afterAll(async () => {
    await there('down', '--purge');
    await roundsman(cluster, ['down', '--purge']);
    ip('link', 'del', net.here);
    ip('netns', 'del', net.namespace);
    rmSync(folder, { recursive: true, force: true });
  });

  it('is not let in with a token that was made up, nor by a cluster that the token is not for', async () => {
    const madeUp = `rj1.${'A'.repeat(43)}.${token.split('.')[2]}`;
    const wrong = await there('join', address, '--token', madeUp, '--name', 'far', '--detach');
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('the token is wrong or has expired');
    const otherPin = `${token.split('.').slice(0, 2).join('.')}.${'B'.repeat(43)}`;
    const stranger = await there('join', address, '--token', otherPin, '--name', 'far', '--detach');
    expect(stranger.code).toBe(1);
    expect(stranger.stderr).toContain('is not the cluster that this token is for');
    expect((await there('join', address, '--token', 'nonsense', '--detach')).code).toBe(2);
  });

  it('is not let in under a name that is taken', async () => {
    const taken = await there('join', address, '--token', token, '--name', 'node-1', '--detach');
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('a node called node-1 is in this cluster already');
    expect([...(await nodes()).keys()]).toEqual(['node-1']);
  });

  it('becomes a node with its own address and runner, by TLS', async () => {
    const joined = await there('join', address, '--token', token, '--name', 'far', '--docker', 'off', '--detach');
    expect(joined.stderr + joined.stdout).toContain('This machine is node far');
    const far = await eventually(async () => {
      const node = (await nodes()).get('far');
      expect(readyOf(node)).toBe('True');
      return node!;
    }, { within: 60_000 });
    expect(far.status.addresses).toContainEqual({ type: 'InternalIP', address: net.other });
    await eventually(async () => {
      const status = await roundsman(cluster, ['status', '--json']);
      expect(JSON.parse(status.stdout)).toMatchObject({ ready: true });
    }, { within: 60_000 });
    // The token went over the wire only inside TLS, and the member's seeds never did.
    expect(readFileSync(join(cluster, 'keys', 'members.json'), 'utf8')).not.toMatch(/"SU/);
    // The rest is known from the first time.
    expect((await there('down')).code).toBe(0);
    expect((await there('join', '--docker', 'off', '--detach')).code).toBe(0);
    expect(JSON.parse((await there('status', '--json')).stdout)).toMatchObject({ memberOf: address, running: true });
    // Who is not heard yet would be forgotten at once, and might be heard a moment later.
    await eventually(async () => expect(readyOf((await nodes()).get('far'))).toBe('True'), { within: 60_000 });
  });

  it('is forgotten for good', async () => {
    expect((await roundsman(cluster, ['forget', 'nobody'])).stderr).toContain('no machine has joined as nobody');
    expect((await roundsman(cluster, ['forget', 'far'])).code).toBe(0);
    expect((await nodes()).has('far')).toBe(false);
    // Its agent was thrown out, and does not come back as it was.
    await eventually(async () => expect(JSON.parse((await there('status', '--json')).stdout)).toMatchObject({ running: false }), { within: 60_000 });
    expect((await nodes()).has('far')).toBe(false);
    const again = await there('join', '--docker', 'off', '--detach');
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('no longer lets this machine (node far) in');
  });
});
