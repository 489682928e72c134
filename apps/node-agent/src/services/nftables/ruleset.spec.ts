import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ForwardedPort, ForwardingTable } from '../forwarding/table.ts';
import type { PublishedPort } from '../host-ports.ts';
import { rulesetOf } from './render.ts';
import { difference, replacement, type Ruleset } from './ruleset.ts';

const table = 'inet t';

/** What the kernel would hold after a script, and what it would refuse: referring to what is not there, deleting what is referred to. */
class Kernel {
  readonly chains = new Map<string, string[]>();
  readonly collections = new Map<string, Map<string, string> | undefined>();

  run(script: string): void {
    for (const line of script.split('\n').filter((text) => text !== '')) this.#command(line);
    const verdicts = [...this.chains.values()].flat().concat([...this.collections.values()].flatMap((elements) => [...(elements?.values() ?? [])]));
    for (const text of verdicts) for (const [, name = ''] of text.matchAll(/(?:goto|jump) ([^ ,}]+)/g)) expect(this.chains.has(name)).toBe(true);
    for (const rules of this.chains.values()) for (const rule of rules) for (const [, name = ''] of rule.matchAll(/@([^ ,}]+)/g)) if (name !== 'nh') expect(this.collections.has(name)).toBe(true);
  }

  #command(line: string): void {
    const [verb, kind = '', , , name = '', ...rest] = line.split(' ');
    const elements = this.collections.get(name);
    if (kind === 'table') {
      if (verb === 'flush') for (const rules of this.chains.values()) rules.length = 0;
    } else if (kind === 'chain') {
      if (verb === 'add') this.chains.set(name, this.chains.get(name) ?? []);
      else expect(this.chains.has(name)).toBe(true);
      if (verb === 'flush') this.chains.set(name, []);
      if (verb === 'delete') this.chains.delete(name);
    } else if (kind === 'rule') this.chains.get(name)?.push(rest.join(' '));
    else if (kind === 'element') {
      for (const element of rest.join(' ').replace(/^\{ | \}$/g, '').split(', ')) {
        const [key = '', data = ''] = element.split(' : ');
        expect(elements?.has(bare(key))).toBe(verb === 'delete');
        if (verb === 'delete') elements?.delete(bare(key));
        else elements?.set(bare(key), data);
      }
    } else if (verb === 'add') this.collections.set(name, elements ?? new Map());
    else if (verb === 'flush') elements?.clear();
    else expect(this.collections.delete(name)).toBe(true);
  }

  expectToHold({ chains, collections }: Ruleset): void {
    expect(new Map([...this.chains].sort())).toEqual(new Map([...chains].map(([name, { rules }]) => [name, [...rules]] as const).sort()));
    expect([...this.collections.keys()].sort()).toEqual([...collections.keys()].sort());
    for (const [name, { elements }] of collections) expect([...(this.collections.get(name) ?? [])].sort()).toEqual([...(elements ?? [])].map(([key, rest]) => [key, rest.split(' : ')[1] ?? '']).sort());
  }
}
const bare = (key: string): string => key.split(' comment ')[0] ?? '';

const endpoints = fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }).map((numbers) => numbers.sort().map((number) => ({ address: `10.244.0.${number}`, port: 8080 })));
const portArb = (index: number): fc.Arbitrary<ForwardedPort> =>
  fc.record({
    key: fc.constant(`default/s${index}/80-tcp-ip`),
    family: fc.constant('IPv4' as const),
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    port: fc.constant(80),
    clusterIP: fc.constant(`10.96.0.${index}`),
    nodePort: fc.constantFrom(undefined, 30_000 + index),
    externalIPs: fc.constantFrom([], [`192.0.2.${index}`]),
    loadBalancerIPs: fc.constantFrom([], [`198.51.100.${index}`]),
    sourceRanges: fc.constantFrom([], ['10.0.0.0/8', '10.1.0.0/16']),
    affinitySeconds: fc.constantFrom(undefined, 10, 20),
    endpoints,
    localEndpoints: endpoints,
    serving: endpoints,
    internalLocal: fc.boolean(),
    externalLocal: fc.boolean(),
  });
const tableArb: fc.Arbitrary<ForwardingTable> = fc
  .tuple(...[1, 2, 3].map((index) => fc.option(portArb(index), { nil: undefined })))
  .map((ports) => ({ podCidrs: ['10.244.0.0/16', 'fd00::/48'], localPodCidrs: ['10.244.1.0/24'], clusterIpCidrs: ['10.96.0.0/16'], loadBalancerCidrs: [], healthChecks: [], ports: ports.filter((port) => port !== undefined) }));
const hostPortsArb: fc.Arbitrary<PublishedPort[]> = fc.uniqueArray(
  fc.record({ podUid: fc.constantFrom('a', 'b'), protocol: fc.constant('TCP' as const), hostIP: fc.constantFrom('', '192.0.2.1'), hostPort: fc.integer({ min: 8_000, max: 8_002 }), address: fc.constantFrom('10.244.0.1', 'fd00::1'), containerPort: fc.constant(80) }),
);
const rulesetArb = fc.tuple(tableArb, hostPortsArb).map(([of, hostPorts]) => rulesetOf(of, hostPorts));

describe('transactions', () => {
  it('lead from any ruleset to any other, and hold nothing when nothing differs', () => {
    fc.assert(
      fc.property(rulesetArb, rulesetArb, (before, after) => {
        const kernel = new Kernel();
        kernel.run(replacement(table, { chains: new Set(), collections: new Set() }, before));
        kernel.expectToHold(before);
        kernel.run(difference(table, before, after));
        kernel.expectToHold(after);
        expect(difference(table, after, after)).toBe('');
      }),
    );
  });

  it('lead from whatever a predecessor left, and keep what packets have filled', () => {
    fc.assert(
      fc.property(rulesetArb, rulesetArb, (before, after) => {
        const kernel = new Kernel();
        kernel.run(replacement(table, { chains: new Set(), collections: new Set() }, before));
        const script = replacement(table, { chains: new Set(kernel.chains.keys()), collections: new Set(kernel.collections.keys()) }, after);
        for (const [name, { elements }] of after.collections) if (elements === undefined) expect(script).not.toContain(`flush set ${table} ${name}\n`);
        kernel.run(script);
        kernel.expectToHold(after);
      }),
    );
  });

  it('change the chains of the Services that changed, and no others', () => {
    const of = (address: string): ForwardingTable => ({ podCidrs: [], localPodCidrs: [], clusterIpCidrs: [], loadBalancerCidrs: [], healthChecks: [], ports: [plain(1, '10.244.0.1'), plain(2, address)] });
    const script = difference(table, rulesetOf(of('10.244.0.2'), []), rulesetOf(of('10.244.0.3'), []));
    expect(script).toContain('s2');
    expect(script).not.toContain('s1');
  });
});

const plain = (index: number, address: string): ForwardedPort => ({
  key: `default/s${index}/80-tcp-ip`, family: 'IPv4', protocol: 'TCP', port: 80, clusterIP: `10.96.0.${index}`, nodePort: undefined, externalIPs: [], loadBalancerIPs: [], sourceRanges: [], affinitySeconds: undefined,
  endpoints: [{ address, port: 8080 }], localEndpoints: [], serving: [], internalLocal: false, externalLocal: false,
});
