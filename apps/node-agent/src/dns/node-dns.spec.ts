import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { decode } from 'dns-packet';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { NodeDns } from './node-dns.ts';
import { ask, queryOf, read, sendTcp, sendUdp, textOf, type Answered, type Endpoint } from './testing/ask.ts';
import { TestCluster } from './testing/cluster.ts';
import { address, nothing, TestUpstream, truncated } from './testing/upstream.ts';

const web = { clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7'], ports: [] };

describe('DNS of a node', () => {
  let cluster: TestCluster;
  let folder: string;
  let dns: NodeDns;
  let at: Endpoint;
  let metrics: Registry;
  const upstreams: TestUpstream[] = [];

  beforeEach(async () => {
    cluster = new TestCluster();
    cluster.service('web', web);
    folder = await mkdtemp(join(tmpdir(), 'roundsman-dns-'));
  });
  afterEach(async () => {
    await dns.stop();
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (more: { upstreams?: string[]; resolvConf?: string; port?: number } = {}): Promise<void> => {
    metrics = new Registry();
    const { resolvConf = '', ...settings } = more;
    dns = new NodeDns({ state: cluster.state, addresses: ['127.0.0.1'], port: 0, upstreams: [], ttlSeconds: 5, dataDir: folder, log: pino({ level: 'silent' }), metrics, resolvConf: () => Promise.resolve(resolvConf), ...settings });
    await dns.start();
    at = { address: '127.0.0.1', port: Number(dns.endpoint?.split(':')[1]) };
  };
  const upstream = async (script: TestUpstream['script']): Promise<TestUpstream> => {
    upstreams.push(await TestUpstream.start(script));
    return upstreams.at(-1)!;
  };
  const behind = async (script: TestUpstream['script']): Promise<TestUpstream> => {
    const one = await upstream(script);
    await start({ upstreams: [`127.0.0.1:${one.port}`] });
    return one;
  };

  describe('over its sockets', () => {
    it('answers by UDP and TCP, and repeats the question to the letter', async () => {
      await start();
      const udp = await ask(at, 'WEB.default.SVC.cluster.LOCAL');
      expect([textOf(udp), udp.id, udp.questions?.[0]?.name, udp.answers?.[0]?.name, udp.flag_ra, udp.flag_rd]).toEqual(['NOERROR 10.96.7.7', 4711, 'WEB.default.SVC.cluster.LOCAL', 'WEB.default.SVC.cluster.LOCAL', true, true]);
      const tcp = await sendTcp(at, [queryOf('web.default.svc.cluster.local', 'A', { id: 1 }), queryOf('none.default.svc.cluster.local', 'A', { id: 2 })]);
      expect(tcp.map((message) => `${read(message).id} ${textOf(read(message))}`)).toEqual(['1 NOERROR 10.96.7.7', '2 NXDOMAIN']);
    });

    it('cuts what is too long for a datagram, by what whoever asks takes; TCP has it whole', async () => {
      cluster.service('db', { clusterIP: 'None' });
      cluster.slice('s', 'db', { endpoints: Array.from({ length: 200 }, (_, index) => ({ addresses: [`10.244.0.${index + 1}`] })) });
      await start();
      const query = (payload?: number) => queryOf('db.default.svc.cluster.local', 'A', payload === undefined ? {} : { payload });
      const sizes: [number, boolean, number][] = [];
      for (const payload of [undefined, 100, 1000, 4096]) {
        const message = await sendUdp(at, query(payload));
        const packet = read(message);
        expect(packet.additionals).toHaveLength(payload === undefined ? 0 : 1);
        sizes.push([message.length, packet.flag_tc, packet.answers!.length]);
      }
      expect(sizes.map(([length, cut]) => [length, cut])).toEqual([[expect.any(Number), true], [expect.any(Number), true], [expect.any(Number), true], [expect.any(Number), true]]);
      for (const [index, limit] of [512, 512, 1000, 1232].entries()) {
        expect(sizes[index]![0]).toBeLessThanOrEqual(limit);
        expect(sizes[index]![0]).toBeGreaterThan(limit - 16);
      }
      const [whole] = await sendTcp(at, [query(1232)]);
      expect([read(whole!).flag_tc, read(whole!).answers?.length]).toEqual([false, 200]);
    });

    it('reads no more questions of one who does not take the answers', async () => {
      cluster.service('db', { clusterIP: 'None' });
      cluster.slice('s', 'db', { endpoints: Array.from({ length: 250 }, (_, index) => ({ addresses: [`10.244.0.${index + 1}`] })) });
      await start();
      const count = 6_000;
      const query = queryOf('db.default.svc.cluster.local');
      const client = connect(at.port, at.address);
      client.write(Buffer.concat(Array.from({ length: count }, () => Buffer.concat([Buffer.of(0, query.length), query]))));
      const answered = async (): Promise<number> => Number(/NOERROR"\} (\d+)/.exec(await metrics.getSingleMetricAsString('roundsman_node_agent_dns_queries_total'))?.[1] ?? 0);
      for (let before = -1, now = 0; before !== now || now === 0; before = now, now = await answered()) await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await answered()).toBeLessThan(count);
      let bytes = 0;
      client.on('data', (data: Buffer) => (bytes += data.length));
      await eventually(async () => expect(await answered()).toBe(count), { within: 90_000 });
      await eventually(() => expect(bytes).toBeGreaterThan(count * 250 * 16));
      client.destroy();
    });

    it('refuses what is no question for it, and goes on', async () => {
      await start();
      const query = queryOf('web.default.svc.cluster.local');
      const changed = (change: (message: Buffer) => void) => {
        const message = Buffer.from(query);
        change(message);
        return message;
      };
      const said = async (message: Buffer) => read(await sendUdp(at, message)).rcode;
      const type = query.length - 4;
      expect(await said(changed((message) => message.writeUInt16BE(252, type)))).toBe('REFUSED');
      expect(await said(changed((message) => message.writeUInt16BE(3, type + 2)))).toBe('REFUSED');
      expect(await said(changed((message) => message.writeUInt16BE(0x2800, 2)))).toBe('NOTIMP');
      expect(await said(changed((message) => message.writeUInt16BE(2, 4)))).toBe('FORMERR');
      expect(await said(changed((message) => message.writeUInt16BE(0, 4)))).toBe('FORMERR');
      expect(await said(query.subarray(0, 20))).toBe('FORMERR');
      expect(await said(changed((message) => (message[12] = 0xc0)))).toBe('FORMERR');
      const future = queryOf('web.default.svc.cluster.local', 'A', { payload: 1232 });
      future[future.length - 5] = 1;
      const [extended] = read(await sendUdp(at, future)).additionals ?? [];
      expect(extended).toMatchObject({ type: 'OPT', extendedRcode: 1 });
      expect(textOf(await ask(at, 'web.default.svc.cluster.local'))).toBe('NOERROR 10.96.7.7');
      expect(await metrics.getSingleMetricAsString('roundsman_node_agent_dns_queries_total')).toContain('{source="cluster",rcode="NOERROR"} 1');
    });

    it('survives any bytes, and what it says is always a message', async () => {
      await start({ upstreams: ['127.0.0.1:9'] });
      const real = [queryOf('web.default.svc.cluster.local', 'A', { payload: 900 }), queryOf('_a._b.c.d.svc.cluster.local', 'SRV'), queryOf('1-2-3-4.x.pod.cluster.local', 'AAAA'), queryOf('4.3.2.1.in-addr.arpa', 'PTR')];
      const mutated = fc.tuple(fc.constantFrom(...real), fc.array(fc.tuple(fc.nat(70), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }), fc.nat(80)).map(([message, changes, cut]) => {
        const copy = Buffer.from(message);
        for (const [place, byte] of changes) if (place < copy.length) copy[place] = byte;
        return copy.subarray(0, Math.max(0, copy.length - Math.max(0, cut - 60)));
      });
      await fc.assert(
        fc.asyncProperty(fc.oneof(mutated, fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes))), fc.constantFrom('udp', 'tcp'), async (message, channel) => {
          const reply = await dns.reply(message, channel as 'udp');
          if (reply === undefined) return;
          expect(reply.message.subarray(0, 2)).toEqual(message.subarray(0, 2));
          expect(reply.message.length).toBeLessThanOrEqual(channel === 'udp' ? 1232 : 65_535);
          read(reply.message);
          expect(decode.bytes).toBe(reply.message.length);
        }),
        { numRuns: 2_000 },
      );
      for (const bytes of [Buffer.alloc(0), Buffer.alloc(5), Buffer.alloc(1400, 255), Buffer.alloc(65_000)]) await sendTcp(at, [bytes], 300).catch(() => undefined);
      expect(textOf(await ask(at, 'web.default.svc.cluster.local'))).toBe('NOERROR 10.96.7.7');
    });

    it('has the same port after a restart, and waits for one that is taken', async () => {
      await start();
      const { port } = at;
      await dns.stop();
      await start();
      expect(at.port).toBe(port);
      const first = dns;
      await start({ port });
      expect(dns.problem()).toContain(`port ${port}: `);
      expect(dns.endpoint).toBeUndefined();
      await first.stop();
      await eventually(() => expect(dns.problem()).toBeUndefined());
    });
  });

  describe('of names of others', () => {
    it('asks upstream, and keeps what that says for as long as it holds', async () => {
      const one = await behind(({ name }) => (name.startsWith('none') ? nothing(3, name.includes('brief') ? 1 : 60) : address(name, '192.0.2.1', name.startsWith('brief') ? 1 : 60)));
      for (let round = 0; round < 3; round++) {
        expect(textOf(await ask(at, 'WWW.example.com'))).toBe('NOERROR 192.0.2.1');
        expect(textOf(await ask(at, 'none.example.com'))).toBe('NXDOMAIN');
      }
      expect(one.asked).toEqual(['udp WWW.example.com', 'udp none.example.com']);
      await eventually(async () => {
        expect(textOf(await ask(at, 'brief.example.com'))).toBe('NOERROR 192.0.2.1');
        expect(textOf(await ask(at, 'none.brief.example.com'))).toBe('NXDOMAIN');
        for (const name of ['udp brief.example.com', 'udp none.brief.example.com']) expect(one.asked.filter((asked) => asked === name).length).toBeGreaterThanOrEqual(2);
      });
      const { answers, questions } = await ask(at, 'www.EXAMPLE.com');
      expect(questions?.[0]?.name).toBe('www.EXAMPLE.com');
      expect((answers![0] as { ttl: number }).ttl).toBeLessThan(60);
      expect(one.asked.filter((name) => name.toLowerCase() === 'udp www.example.com')).toHaveLength(1);
    });

    it('the same asked many times at once is asked once, from another port and with another id each time', async () => {
      const one = await behind(({ name }) => address(name, '192.0.2.1', 0));
      const gate = Promise.withResolvers<void>();
      one.gate = gate.promise;
      const answers = Promise.all(Array.from({ length: 20 }, () => ask(at, 'www.example.com')));
      // Whoever asked before it has been heard when this is answered, which needs nobody.
      await ask(at, 'web.default.svc.cluster.local');
      gate.resolve();
      await answers;
      expect(one.asked).toHaveLength(1);
      for (let round = 0; round < 10; round++) await ask(at, `${round}.example.com`);
      expect(one.ports.size).toBeGreaterThan(5);
      expect(one.ids.size).toBeGreaterThan(5);
    });

    it('by TCP when a datagram is too short for it; whoever asked by UDP gets what there is room for', async () => {
      const many = Array.from({ length: 100 }, (_, index) => ({ type: 'A' as const, name: 'big.example.com', ttl: 60, data: `192.0.2.${index}` }));
      const one = await behind((_question, channel) => (channel === 'udp' ? truncated : { answers: many }));
      const udp = await ask(at, 'big.example.com');
      expect([udp.flag_tc, udp.answers!.length > 5]).toEqual([true, true]);
      const [tcp] = await sendTcp(at, [queryOf('big.example.com')]);
      expect([read(tcp!).flag_tc, read(tcp!).answers?.length]).toEqual([false, 100]);
      expect(one.asked).toEqual(['udp big.example.com', 'tcp big.example.com']);
    });

    it('keeps large answers no longer than there is room for them', async () => {
      const large = Array.from({ length: 200 }, () => 'x'.repeat(250));
      const one = await behind(({ name }, channel) => (channel === 'udp' ? truncated : { answers: [{ type: 'TXT' as const, name, ttl: 60, data: large }] }));
      for (let index = 0; index < 200; index++) expect((await ask(at, `${index}.example.com`, 'TXT')).flag_tc).toBe(true);
      const times = (name: string): number => one.asked.filter((asked) => asked === `tcp ${name}`).length;
      for (const name of ['199.example.com', '0.example.com']) await ask(at, name, 'TXT');
      expect([times('199.example.com'), times('0.example.com')]).toEqual([1, 2]);
    });

    it('what does not fit the question is dropped', async () => {
      // Of another id, as from somebody who guesses.
      await behind(({ name }, _channel, query) => ({ id: (query.id! + 1) & 0xffff, ...address(name, '6.6.6.6') }));
      expect((await ask(at, 'www.example.com')).rcode).toBe('SERVFAIL');
    });

    it('asks the next server when one is silent, unable or talks nonsense; then that one first', async () => {
      const bad = await upstream(({ name }) => (name.startsWith('unable') ? { flags: 2 } : name.startsWith('nonsense') ? { message: Buffer.alloc(40, 7) } : undefined));
      const good = await upstream(({ name }) => address(name, '192.0.2.2'));
      await start({ resolvConf: `nameserver 10.96.0.10\n`, upstreams: [`127.0.0.1:${bad.port}`, `127.0.0.1:${good.port}`] });
      for (const name of ['unable.example.com', 'nonsense.example.com', 'silent.example.com']) expect(textOf(await ask(at, name))).toBe('NOERROR 192.0.2.2');
      const before = bad.asked.length;
      expect(textOf(await ask(at, 'other.example.com'))).toBe('NOERROR 192.0.2.2');
      expect(bad.asked.length).toBe(before);
      good.script = bad.script;
      expect((await ask(at, 'unable-too.example.com')).rcode).toBe('SERVFAIL');
    });

    it('asks the next server when there is no way to one', async () => {
      const good = await upstream(({ name }) => address(name, '192.0.2.2'));
      // The kernel knows no way to an address of this family without an interface (link-local, no zone).
      await start({ upstreams: ['[fe80::53]', `127.0.0.1:${good.port}`] });
      expect(textOf(await ask(at, 'www.example.com'))).toBe('NOERROR 192.0.2.2');
    });

    it('says REFUSED without servers, and never asks itself', async () => {
      await start({ resolvConf: 'nameserver 10.96.0.10\n' });
      expect((await ask(at, 'www.example.com')).rcode).toBe('REFUSED');
      await dns.stop();
      // Through somebody who hands everything on to us.
      const relay = await upstream((question, _channel, query) => {
        void sendUdp(at, queryOf(question.name, question.type, { id: query.id! })).then((message) => (returned = read(message)), () => undefined);
        return undefined;
      });
      let returned: Answered | undefined;
      await start({ upstreams: [`127.0.0.1:${relay.port}`] });
      expect((await ask(at, 'www.example.com')).rcode).toBe('SERVFAIL');
      // Its own answer goes another way than the one before it.
      await eventually(() => expect(returned?.rcode).toBe('SERVFAIL'));
      expect(relay.asked).toHaveLength(1);
    });

    it('an alias of the cluster leads to them', async () => {
      cluster.service('out', { type: 'ExternalName', externalName: 'www.example.com' });
      await behind(({ name, type }) => (type === 'A' ? { answers: [{ type: 'CNAME', name, ttl: 60, data: 'edge.example.com' }, { type: 'A', name: 'edge.example.com', ttl: 60, data: '192.0.2.9' }] } : nothing(0)));
      expect(textOf(await ask(at, 'out.default.svc.cluster.local'))).toBe('NOERROR 192.0.2.9 edge.example.com www.example.com');
      expect(textOf(await ask(at, 'out.default.svc.cluster.local', 'AAAA'))).toBe('NOERROR www.example.com');
    });
  });
});
