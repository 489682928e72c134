import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { forwardingTable } from '../forwarding/forwarding-table.ts';
import type { ForwardingTable } from '../forwarding/table.ts';
import { emptyState, endpoint, service, slice, slicesResource } from '../testing/objects.ts';
import { EmptyNamespace, whenPackets } from '../testing/packet-lab.ts';
import { NftablesProxy } from './nftables-proxy.ts';

/** Time of processors that this process and the programs it has run used so far: on a busy machine that of the clock says nothing. Ticks of 10 ms. */
const processorMs = (): number => readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ').slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);

/** Of this many Services with as many endpoints each. */
function tableOf(services: number, endpoints: number): ForwardingTable {
  const state = emptyState();
  for (let index = 0; index < services; index++) {
    state.apply('ADDED', 'services', service(`s${index}`, { clusterIP: `10.96.${index >> 8}.${index & 255}`, type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', nodePort: 30_000 + index }] }));
    state.apply('ADDED', slicesResource, slice(`s${index}`, Array.from({ length: endpoints }, (_, at) => endpoint(`10.244.${at}.${(index % 250) + 1}`, 'here'))));
  }
  return forwardingTable(state, new Set(['here']));
}

whenPackets(describe)('rules in the kernel', () => {
  let namespace: EmptyNamespace;
  const warnings: string[] = [];
  const log = { info: () => undefined, warn: (_of: unknown, text: string) => warnings.push(text) } as never;
  const proxyOf = (cluster: string): NftablesProxy => new NftablesProxy(cluster, namespace, log);
  const rules = (): string => namespace.run('nft list ruleset');
  beforeEach(() => {
    namespace = new EmptyNamespace();
    warnings.length = 0;
  });
  afterEach(() => namespace.stop());

  it('500 Services with 5 endpoints take less than 5 s of a processor, and a change costs what it changes', async () => {
    const proxy = proxyOf('large');
    const before = processorMs();
    await proxy.apply(tableOf(500, 5), []);
    expect(processorMs() - before).toBeLessThan(5_000);
    expect(rules()).toContain('10.96.1.243 . tcp . 80 : goto');
    const chain = 'nft list chain inet roundsman-large all/default/s7/80-tcp-ip';
    expect(namespace.run(chain)).toContain('numgen random mod 5');
    await proxy.apply(tableOf(499, 5), []);
    expect(rules()).not.toContain('s499');
    expect(namespace.run(chain)).toContain('numgen random mod 5');
    await proxy.verify(true);
    expect(warnings).toEqual([]);
  });

  it('says that the namespace is gone, and blames neither its rules nor its Services', async () => {
    const elsewhere = new EmptyNamespace();
    const proxy = new NftablesProxy('a', elsewhere, log);
    await proxy.apply(tableOf(1, 1), []);
    elsewhere.stop();
    await expect(proxy.apply(tableOf(2, 1), [])).rejects.toMatchObject({ kind: 'gone', message: expect.stringContaining('the network namespace is gone') as unknown });
    expect(warnings).toEqual([]);
  });

  it('what somebody else has taken away is put back', async () => {
    const proxy = proxyOf('a');
    await proxy.apply(tableOf(2, 2), []);
    const before = rules();
    for (const damage of ['flush ruleset', 'flush chain inet roundsman-a services', 'delete element inet roundsman-a services4 { 10.96.0.1 . tcp . 80 }']) {
      namespace.run(`nft ${damage.includes('{') ? `'${damage}'` : damage}`);
      await proxy.verify(true);
      expect(rules()).toBe(before);
    }
    expect(warnings).toHaveLength(3);
    for (const damage of ['flush ruleset', 'flush table inet roundsman-a']) {
      namespace.run(`nft ${damage}`);
      await proxy.verify(false);
      expect(rules()).toBe(before);
    }
    await proxy.verify(false);
    expect(warnings).toHaveLength(5);
    // Noticed by a change before it was looked for.
    namespace.run('nft flush ruleset');
    await proxy.apply(tableOf(1, 2), []);
    expect(rules()).toContain('default/s0/80');
  });

  it('one port that the kernel refuses does not stop the others', async () => {
    const proxy = proxyOf('a');
    const table = tableOf(9, 2);
    const odd = { ...table, ports: table.ports.map((port, index) => (index === 4 ? { ...port, sourceRanges: ['10.0.0.0/99'], loadBalancerIPs: ['198.51.100.1'] } : port)) };
    expect(await proxy.apply(odd, [])).toEqual([expect.stringMatching('^default/s4/80-tcp-ip is not forwarded: ')]);
    for (const index of [0, 3, 5, 8]) expect(rules()).toContain(`10.96.0.${index} . tcp . 80 : goto`);
    expect(rules()).not.toContain('default/s4/');
    expect(await proxy.apply({ ...odd, ports: odd.ports.slice(1) }, [])).toHaveLength(1);
    expect(await proxy.apply(table, [])).toEqual([]);
    expect(rules()).toContain('10.96.0.4 . tcp . 80 : goto');
  });

  it('clusters do not disturb each other, and what goes leaves nothing', async () => {
    namespace.run(`sh -c 'nft "add table inet theirs; add chain inet theirs theirs"'`);
    const [a, b] = [proxyOf('a'), proxyOf('b')];
    await a.apply(tableOf(3, 2), []);
    const onlyA = rules();
    await b.apply(tableOf(2, 2), []);
    expect(rules().startsWith(onlyA)).toBe(true);
    await b.remove();
    expect(rules()).toBe(onlyA);
    await a.remove();
    expect(rules().trim()).toBe('table inet theirs {\n\tchain theirs {\n\t}\n}');
  });

  it('a later agent takes over what an earlier one left, whatever it was', async () => {
    const hostPort = { podUid: '8c1d', protocol: 'UDP', hostIP: '', hostPort: 53, address: 'fd00:244::1', containerPort: 5_353 } as const;
    await proxyOf('a').apply(tableOf(4, 1), [hostPort]);
    const later = proxyOf('a');
    expect(await later.hostPorts()).toEqual([hostPort]);
    await later.apply(tableOf(2, 1), [hostPort]);
    const fresh = rules();
    namespace.run('nft delete table inet roundsman-a');
    namespace.run(`sh -c 'nft "add table inet roundsman-a; add chain inet roundsman-a guard-output { type nat hook output priority 7; }; add set inet roundsman-a services4 { type mark; }"'`);
    await proxyOf('a').apply(tableOf(2, 1), [hostPort]);
    expect(rules()).toBe(fresh);
  });
});
