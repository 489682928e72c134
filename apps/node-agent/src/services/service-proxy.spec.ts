import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NetworkState } from '@roundsman/network';
import { eventually } from '@roundsman/testkit';
import type { ForwardingTable } from './forwarding/table.ts';
import { ServiceProxy } from './service-proxy.ts';
import { clusterNetwork, emptyState, endpoint, service, slice, slicesResource } from './testing/objects.ts';
import { EmptyNamespace, whenPackets } from './testing/packet-lab.ts';

whenPackets(describe)('a proxy of Services', () => {
  let namespaces: EmptyNamespace[];
  let folder: string;
  let tables: ForwardingTable[];
  const proxies: ServiceProxy[] = [];
  beforeEach(() => {
    namespaces = [new EmptyNamespace(), new EmptyNamespace()];
    folder = mkdtempSync(join(tmpdir(), 'services-'));
    tables = [];
  });
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.stop();
    for (const namespace of namespaces) namespace.stop();
    rmSync(folder, { recursive: true });
  });

  const log = { info: () => undefined, warn: () => undefined };
  const rulesIn = (at: number): string => namespaces[at]?.run('nft list ruleset') ?? '';
  function start(state: NetworkState, namespace: () => EmptyNamespace | undefined): ServiceProxy {
    const proxy = new ServiceProxy({ cluster: 'c', mode: 'auto', state, folder, name: 'services', log, namespace, localNodes: () => new Set(['here']), onTable: (table) => void tables.push(table) });
    proxies.push(proxy);
    proxy.start();
    return proxy;
  }
  function add(state: NetworkState, name: string, clusterIP: string): void {
    state.apply('ADDED', 'services', service(name, { clusterIP }));
    state.apply('ADDED', slicesResource, slice(name, [endpoint('10.244.0.1', 'here')]));
  }

  it('makes one transaction of a burst', async () => {
    const state = emptyState();
    const proxy = start(state, () => namespaces[0]);
    await eventually(() => expect(tables).toHaveLength(1));
    for (let index = 0; index < 200; index++) add(state, `s${index}`, `10.96.0.${index + 1}`);
    await eventually(() => expect(tables.at(-1)?.ports).toHaveLength(200));
    expect(tables).toHaveLength(2);
    expect(rulesIn(0)).toContain('default/s199/80-tcp-ip');
    expect(proxy.status).toEqual({ by: 'nftables', problem: undefined });
  });

  it('takes nothing away before it knows what there is', async () => {
    const before = emptyState();
    add(before, 'web', '10.96.0.1');
    const first = start(before, () => namespaces[0]);
    await first.publish('pod-a', [{ protocol: 'TCP', hostIP: '', hostPort: 8_080, address: '10.244.0.1', containerPort: 80 }]);
    const rules = rulesIn(0);
    await first.stop();
    // The next agent: what its cluster is it hears later, and which pods there are earlier.
    const state = new NetworkState();
    const later = start(state, () => namespaces[0]);
    await later.keepOnly(['pod-a']);
    add(state, 'web', '10.96.0.1');
    const published = later.publish('pod-b', [{ protocol: 'TCP', hostIP: '', hostPort: 8_081, address: '10.244.0.2', containerPort: 80 }]);
    expect(rulesIn(0)).toBe(rules);
    state.decide(clusterNetwork);
    await published;
    expect(rulesIn(0)).toContain('tcp . 8080 comment "pod-a" : 10.244.0.1 . 80');
    expect(rulesIn(0)).toContain('tcp . 8081 comment "pod-b" : 10.244.0.2 . 80');
    expect(rulesIn(0)).toContain('default/web/80-tcp-ip');
  });

  it('takes host ports of pods back that ended while no agent ran', async () => {
    const first = start(emptyState(), () => namespaces[0]);
    await first.publish('pod-a', [{ protocol: 'TCP', hostIP: '', hostPort: 8_080, address: '10.244.0.1', containerPort: 80 }]);
    await first.stop();
    await start(emptyState(), () => namespaces[0]).keepOnly([]);
    await eventually(() => expect(rulesIn(0)).not.toContain('pod-a'));
  });

  it('serves a node whose namespace is made anew, or later', async () => {
    const state = emptyState();
    add(state, 'web', '10.96.0.1');
    let place: EmptyNamespace | undefined;
    const proxy = start(state, () => place);
    await eventually(() => expect(proxy.status.problem).toBe('the node has no network yet'));
    place = namespaces[0];
    proxy.wake();
    await eventually(() => expect(rulesIn(0)).toContain('default/web/80-tcp-ip'));
    place = namespaces[1];
    proxy.wake();
    await eventually(() => expect(rulesIn(1)).toBe(rulesIn(0)));
  });

  it('serves it by the way that leads there now, though the kernel gave it the number of the one before', async () => {
    const state = emptyState();
    add(state, 'web', '10.96.0.1');
    const [path, others] = [(namespaces[0] as EmptyNamespace).path, join(folder, 'before')];
    writeFileSync(others, '');
    execFileSync('mount', ['--bind', path, others]);
    let place = { path: others } as EmptyNamespace;
    const proxy = start(state, () => place);
    await eventually(() => expect(rulesIn(0)).toContain('default/web/80-tcp-ip'));
    execFileSync('umount', [others]);
    rmSync(others);
    place = { path } as EmptyNamespace;
    add(state, 'late', '10.96.0.2');
    await eventually(() => expect(rulesIn(0)).toContain('default/late/80-tcp-ip'));
    expect(proxy.status).toEqual({ by: 'nftables', problem: undefined });
  });

  it('tries again once in a while what fails, however often it was asked to', async () => {
    let tries = 0;
    const proxy = start(emptyState(), () => {
      tries += 1;
      return { path: '/run/netns/rs-there-is-none' } as EmptyNamespace;
    });
    for (let asked = 1; asked <= 5; asked++) {
      await eventually(() => expect(tries).toBeGreaterThanOrEqual(asked));
      proxy.wake();
    }
    tries = 0;
    const sinceMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    // One a second, and at each end one that was under way; the wait itself may have been longer.
    expect(tries).toBeLessThanOrEqual(Math.ceil((performance.now() - sinceMs) / 1_000) + 1);
  });

  it('without privileges forwards in user space, says so, and what an administrator has to do', async () => {
    const { path } = namespaces[0] as EmptyNamespace;
    const program = fileURLToPath(new URL('./testing/unprivileged-agent.ts', import.meta.url));
    // The same user without any capability: another one may not be able to read where this clone lies.
    const agent = spawn('nsenter', [`--net=${path}`, '--', 'setpriv', '--inh-caps=-all', '--bounding-set=-all', '--', process.execPath, '--disable-warning=ExperimentalWarning', program, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(agent, 'exit');
    const said: { by: string; problem?: string }[] = [];
    createInterface({ input: agent.stdout }).on('line', (line) => said.push(JSON.parse(line) as { by: string }));
    try {
      await eventually(() => expect(said[0]).toEqual({ by: 'userspace', problem: 'ClusterIPs are no addresses of this machine yet; as an administrator run once: ip route add local 10.96.0.0/16 dev lo' }));
      expect(statSync(join(folder, 'services.sock')).mode & 0o077).toBe(0);
    } finally {
      agent.stdin.end();
    }
    await ended;
    // Its forwarder has ended, too.
    expect(readdirSync(folder)).toEqual(['services.log']);
    expect(namespaces[0]?.run('nft list ruleset')).toBe('');
  });

  it('says why it does not forward, and does as soon as it can', async () => {
    const state = emptyState();
    const gone = { path: '/run/netns/rs-there-is-none' } as EmptyNamespace;
    let place = gone;
    const proxy = start(state, () => place);
    await eventually(() => expect(proxy.status.problem).toContain('no such file'));
    place = namespaces[0] as EmptyNamespace;
    await eventually(() => expect(proxy.status).toEqual({ by: 'nftables', problem: undefined }));
  });
});
