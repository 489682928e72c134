import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Forwarder } from '../upstream/forwarder.ts';
import { Resolver, type Reply } from '../resolver.ts';
import { queryOf, read, textOf, type Asked } from '../testing/ask.ts';
import { TestCluster } from '../testing/cluster.ts';
import { addressOfLabel, addressOfReverse, dashed, reverseName } from './addresses.ts';
import { ClusterNames } from './cluster-names.ts';

const web = { clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7', 'fd00:10:96::7'], ports: [{ name: 'http', protocol: 'TCP', port: 80 }, { name: 'dns', protocol: 'UDP', port: 53 }, { protocol: 'TCP', port: 9 }] };
const headless = { clusterIP: 'None', clusterIPs: ['None'] };
const slices = 'endpointslices.discovery.k8s.io';

describe('names of the cluster', () => {
  let cluster: TestCluster;
  let names: ClusterNames;
  let resolver: Resolver;
  beforeEach(() => {
    cluster = new TestCluster();
    names = new ClusterNames(cluster.state, 5);
    resolver = new Resolver(names, new Forwarder({ servers: () => [], onProblem: () => undefined }));
  });
  afterEach(() => names.close());
  const packet = async (name: string, type: Parameters<typeof queryOf>[1] = 'A', more: Asked = {}) => read(((await resolver.reply(queryOf(name, type, more), 'udp')) as Reply).message);
  const says = async (name: string, type: Parameters<typeof queryOf>[1] = 'A') => textOf(await packet(name, type));

  it('of a Service: its addresses, ports and reverse names', async () => {
    cluster.service('web', web);
    expect(await says('web.default.svc.cluster.local')).toBe('NOERROR 10.96.7.7');
    expect(await says('web.default.svc.cluster.local', 'AAAA')).toBe('NOERROR fd00:10:96::7');
    expect(await says('_http._tcp.web.default.svc.cluster.local', 'SRV')).toBe('NOERROR web.default.svc.cluster.local:80');
    expect(await says('_dns._udp.web.default.svc.cluster.local', 'SRV')).toBe('NOERROR web.default.svc.cluster.local:53');
    expect(await says('7.7.96.10.in-addr.arpa', 'PTR')).toBe('NOERROR web.default.svc.cluster.local');
    expect(await says(reverseName('fd00:10:96::7')!, 'PTR')).toBe('NOERROR web.default.svc.cluster.local');
    const { additionals, answers, flag_aa: authoritative } = await packet('_http._tcp.web.default.svc.cluster.local', 'SRV');
    expect(additionals?.map((record) => 'data' in record && record.data)).toEqual(['10.96.7.7', 'fd00:10:96::7']);
    expect([answers?.map((record) => 'ttl' in record && record.ttl), authoritative]).toEqual([[5], true]);
  });

  it('that there are not: NXDOMAIN; that have nothing of the type: no data; both say how long that holds', async () => {
    cluster.service('web', { ...web, clusterIPs: ['10.96.7.7'] });
    for (const [name, type, rcode] of [
      ['none.default.svc.cluster.local', 'A', 'NXDOMAIN'],
      ['web.none.svc.cluster.local', 'A', 'NXDOMAIN'],
      ['a.web.default.svc.cluster.local', 'A', 'NXDOMAIN'],
      ['_none._tcp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
      ['www.example.com.cluster.local', 'A', 'NXDOMAIN'],
      ['9.9.96.10.in-addr.arpa', 'PTR', 'NXDOMAIN'],
      ['web.default.svc.cluster.local', 'AAAA', 'NOERROR'],
      ['web.default.svc.cluster.local', 'MX', 'NOERROR'],
      ['_tcp.web.default.svc.cluster.local', 'A', 'NOERROR'],
      ['default.svc.cluster.local', 'A', 'NOERROR'],
      ['svc.cluster.local', 'A', 'NOERROR'],
      ['pod.cluster.local', 'A', 'NOERROR'],
      ['default.pod.cluster.local', 'A', 'NOERROR'],
      ['cluster.local', 'A', 'NOERROR'],
    ] as const) {
      const { rcode: said, answers, authorities, flag_aa: authoritative } = await packet(name, type);
      expect([name, said, answers, authoritative]).toEqual([name, rcode, [], true]);
      expect(authorities).toEqual([expect.objectContaining({ type: 'SOA', ttl: 5, data: expect.objectContaining({ minimum: 5 }) })]);
      expect(`.${name}`.endsWith(`.${authorities![0]!.name}`)).toBe(true);
    }
  });

  it('of the zone itself', async () => {
    expect(await says('dns-version.cluster.local', 'TXT')).toBe('NOERROR 1.1.0');
    expect(await says('cluster.local', 'SOA')).toBe('NOERROR kube-dns.kube-system.svc.cluster.local');
    expect(await says('cluster.local', 'NS')).toBe('NOERROR kube-dns.kube-system.svc.cluster.local');
  });

  it('of a headless Service: endpoints that are ready, by hostname or address', async () => {
    cluster.service('db', headless);
    expect(await says('db.default.svc.cluster.local')).toBe('NXDOMAIN');
    cluster.slice('db-1', 'db', {
      ports: [{ name: 'sql', protocol: 'TCP', port: 5432 }],
      endpoints: [
        { addresses: ['10.244.1.5'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.244.2.6'] },
        { addresses: ['10.244.3.7'], hostname: 'db-2', conditions: { ready: false } },
      ],
    });
    // The same endpoint in two slices is one.
    cluster.slice('db-2', 'db', { endpoints: [{ addresses: ['10.244.2.6'] }] });
    cluster.slice('db-6', 'db', { addressType: 'IPv6', endpoints: [{ addresses: ['fd00:10:244::5'], hostname: 'db-0' }] });
    expect(await says('db.default.svc.cluster.local')).toBe('NOERROR 10.244.1.5 10.244.2.6');
    expect(await says('db-0.db.default.svc.cluster.local')).toBe('NOERROR 10.244.1.5');
    expect(await says('db-0.db.default.svc.cluster.local', 'AAAA')).toBe('NOERROR fd00:10:244::5');
    expect(await says('10-244-2-6.db.default.svc.cluster.local')).toBe('NOERROR 10.244.2.6');
    expect(await says('db-2.db.default.svc.cluster.local')).toBe('NXDOMAIN');
    expect(await says('_sql._tcp.db.default.svc.cluster.local', 'SRV')).toBe('NOERROR 10-244-2-6.db.default.svc.cluster.local:5432 db-0.db.default.svc.cluster.local:5432');
    expect((await packet('_sql._tcp.db.default.svc.cluster.local', 'SRV')).additionals).toHaveLength(3);
    expect(await says('5.1.244.10.in-addr.arpa', 'PTR')).toBe('NOERROR db-0.db.default.svc.cluster.local');
    expect(await says('7.3.244.10.in-addr.arpa', 'PTR')).toBe('NXDOMAIN');
  });

  it('follow what changes, at once', async () => {
    cluster.service('db', headless);
    cluster.slice('s', 'db', { endpoints: [{ addresses: ['10.244.1.5'] }] });
    expect(await says('db.default.svc.cluster.local')).toBe('NOERROR 10.244.1.5');
    cluster.service('other', headless);
    cluster.slice('s', 'other', { endpoints: [{ addresses: ['10.244.1.6'] }] });
    expect([await says('db.default.svc.cluster.local'), await says('other.default.svc.cluster.local'), await says('5.1.244.10.in-addr.arpa', 'PTR')]).toEqual(['NXDOMAIN', 'NOERROR 10.244.1.6', 'NXDOMAIN']);
    cluster.delete('services', 'other');
    expect(await says('other.default.svc.cluster.local')).toBe('NXDOMAIN');
    cluster.service('other', web);
    expect(await says('other.default.svc.cluster.local')).toBe('NOERROR 10.96.7.7');
    cluster.delete(slices, 's');
    cluster.service('other', { ...web, clusterIPs: ['10.96.7.8'] });
    expect([await says('other.default.svc.cluster.local'), await says('7.7.96.10.in-addr.arpa', 'PTR')]).toEqual(['NOERROR 10.96.7.8', 'NXDOMAIN']);
    cluster.state.decide({ ...cluster.state.network!, domain: 'example.test' });
    expect(await says('other.default.svc.example.test')).toBe('NOERROR 10.96.7.8');
  });

  it('of pods are their addresses', async () => {
    expect(await says('10-244-1-5.default.pod.cluster.local')).toBe('NOERROR 10.244.1.5');
    expect(await says('fd00-10-244--5.default.pod.cluster.local', 'AAAA')).toBe('NOERROR fd00:10:244::5');
    for (const name of ['10-244-1.default.pod.cluster.local', '10-244-1-256.default.pod.cluster.local', 'x.10-244-1-5.default.pod.cluster.local', 'web.default.pod.cluster.local']) expect(await says(name)).toBe('NXDOMAIN');
  });

  it('of an alias lead to what it stands for', async () => {
    cluster.service('web', web);
    cluster.service('alias', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' });
    cluster.service('round', { type: 'ExternalName', externalName: 'round.default.svc.cluster.local' });
    cluster.service('nowhere', { type: 'ExternalName', externalName: 'none.default.svc.cluster.local' });
    expect(await says('alias.default.svc.cluster.local')).toBe('NOERROR 10.96.7.7 web.default.svc.cluster.local');
    expect(await says('alias.default.svc.cluster.local', 'CNAME')).toBe('NOERROR web.default.svc.cluster.local');
    expect((await packet('round.default.svc.cluster.local')).rcode).toBe('SERVFAIL');
    expect(await says('nowhere.default.svc.cluster.local')).toBe('NXDOMAIN none.default.svc.cluster.local');
  });

  it('of hosts lead to the ingress, where there is one', async () => {
    cluster.dns('shop', 'Shop.example.com');
    cluster.ingressClass('roundsman', 'roundsman.io/ingress');
    cluster.ingressClass('other', 'example.com/other');
    cluster.ingress('site', ['site.example.com', '*.wild.example.com', 'shop.example.com']);
    cluster.ingress('foreign', ['foreign.example.com'], 'other');
    // Nobody knows it but upstream servers, of which there are none.
    expect(await says('shop.example.com')).toBe('REFUSED');
    cluster.service('kube-system/ingress', { ...web, clusterIPs: ['10.96.0.20'] });
    expect(await says('shop.example.com')).toBe('NOERROR 10.96.0.20');
    cluster.service('kube-system/ingress', web, { loadBalancer: { ingress: [{ ip: '10.97.0.1' }] } });
    for (const name of ['shop.example.com', 'site.example.com', 'a.wild.example.com', 'SITE.EXAMPLE.COM']) expect(await says(name)).toBe('NOERROR 10.97.0.1');
    expect(await says('shop.example.com', 'AAAA')).toBe('NOERROR');
    for (const name of ['example.com', 'wild.example.com', 'a.b.wild.example.com', 'foreign.example.com']) expect(await says(name)).toBe('REFUSED');
    cluster.delete('dnses.roundsman.io', 'shop');
    cluster.delete('ingresses.networking.k8s.io', 'site');
    expect(await says('shop.example.com')).toBe('REFUSED');
  });

  it('are not given away by hosts: below the domain there are Services and pods alone', async () => {
    cluster.ingressClass('roundsman', 'roundsman.io/ingress');
    cluster.service('kube-system/ingress', { clusterIPs: ['10.96.0.20'] });
    cluster.ingress('greedy', ['*.svc.cluster.local', 'db.default.svc.cluster.local', 'cluster.local', 'shop.example.com']);
    expect(await says('shop.example.com')).toBe('NOERROR 10.96.0.20');
    for (const name of ['registry.svc.cluster.local', 'db.default.svc.cluster.local']) expect(await says(name)).toBe('NXDOMAIN');
    expect(await says('cluster.local')).toBe('NOERROR');
  });

  it('of an alias that DNS cannot say there are none', async () => {
    cluster.service('out', { type: 'ExternalName', externalName: `${'a'.repeat(100)}.example.com` });
    expect(await says('out.default.svc.cluster.local', 'CNAME')).toBe('NXDOMAIN');
  });

  it('are answered in any order', async () => {
    cluster.service('db', headless);
    cluster.slice('s', 'db', { endpoints: Array.from({ length: 8 }, (_, index) => ({ addresses: [`10.244.0.${index + 1}`] })) });
    const firsts = new Set<unknown>();
    for (let round = 0; round < 100; round++) firsts.add((await packet('db.default.svc.cluster.local')).answers!.map((record) => 'data' in record && record.data)[0]);
    expect(firsts.size).toBeGreaterThan(3);
  });

  it('are nobody’s to deny before the network is known', async () => {
    const unknown = new ClusterNames(new TestCluster(null).state, 5);
    const { message } = (await new Resolver(unknown, new Forwarder({ servers: () => [], onProblem: () => undefined })).reply(queryOf('web.default.svc.cluster.local'), 'udp')) as Reply;
    expect(read(message).rcode).toBe('SERVFAIL');
  });

  it('no change leaves anything behind', () => {
    const step = fc.record({ service: fc.constantFrom('a', 'b'), slice: fc.constantFrom('1', '2'), kind: fc.constantFrom('cluster', 'headless', 'gone', 'slice', 'no slice'), last: fc.integer({ min: 1, max: 3 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const some = new TestCluster();
        const kept = new ClusterNames(some.state, 5);
        for (const { service, slice, kind, last } of steps) {
          if (kind === 'cluster') some.service(service, { clusterIP: `10.96.0.${last}`, clusterIPs: [`10.96.0.${last}`], ports: [{ name: 'p', protocol: 'TCP', port: last }] });
          else if (kind === 'headless') some.service(service, headless);
          else if (kind === 'gone') some.delete('services', service);
          else if (kind === 'slice') some.slice(slice, service, { endpoints: [{ addresses: [`10.244.0.${last}`], hostname: `h${last}` }] });
          else some.delete(slices, slice);
        }
        const anew = new ClusterNames(some.state, 5);
        const asked = ['a', 'b'].flatMap((service) => [`${service}.default.svc.cluster.local`, ...[1, 2, 3].flatMap((last) => [`h${last}.${service}.default.svc.cluster.local`, `_p._tcp.${service}.default.svc.cluster.local`])]);
        for (const name of [...asked, 'default.svc.cluster.local', ...[1, 2, 3].flatMap((last) => [`${last}.0.96.10.in-addr.arpa`, `${last}.0.244.10.in-addr.arpa`])]) {
          const facts = (from: ClusterNames) => {
            const { rcode, answers = [] } = from.lookup(name, 255) ?? {};
            return [name, rcode, answers.map(({ type, data }) => `${type} ${data.toString('hex')}`).sort()];
          };
          expect(facts(kept)).toEqual(facts(anew));
        }
      }),
    );
  });
});

describe('addresses in names', () => {
  it('read back as they were written', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6().filter((text) => !text.includes('.')));
    fc.assert(
      fc.property(address, (text) => {
        const label = dashed(text);
        expect(label).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
        expect(reverseName(addressOfLabel(label)!)).toBe(reverseName(text));
        expect(reverseName(addressOfReverse(reverseName(text)!)!)).toBe(reverseName(text));
      }),
    );
  });
});
