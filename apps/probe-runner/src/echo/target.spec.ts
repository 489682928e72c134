import 'reflect-metadata';
import { createSocket, type Socket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, createServer, type AddressInfo } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import dnsPacket, { type DecodedPacket, type RecordType } from 'dns-packet';
import { everyAddress, ownAddresses } from './addresses.ts';
import { echoCertificate } from './certificate.ts';
import { Counters } from './counters.ts';
import { EchoTarget } from './target.ts';
import { serveUdpEcho } from './udp.ts';

describe('the echo target', () => {
  let folder: string;
  let echo: EchoTarget;
  let base: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-echo-'));
    echo = new EchoTarget({ addresses: ['127.0.0.1', '::1'], folder, serverName: 'runner-1', names: ['echo.roundsman-system.svc', 'node-1'] });
    await echo.start();
    base = `http://127.0.0.1:${echo.ports.http}`;
  });
  afterAll(async () => {
    await echo.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const json = async (path: string, init?: RequestInit) => (await (await fetch(base + path, init)).json()) as Record<string, unknown>;

  describe('HTTP', () => {
    it('echoes every method with kdoctor’s fields and counts per task', async () => {
      for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'OPTIONS']) {
        expect(await json('/kdoctoragent?task=methods', { method, headers: { 'x-here': 'yes' } })).toMatchObject({
          serverName: 'runner-1', requestMethod: method, requestUrl: '/kdoctoragent?task=methods', TaskName: 'methods', requestHeader: { 'x-here': 'yes' }, requestParam: { task: 'methods' }, clientIp: '127.0.0.1',
        });
      }
      expect((await fetch(`${base}/?task=methods`, { method: 'HEAD' })).status).toBe(200);
      expect(await json('/?task=methods')).toMatchObject({ requestCount: 7 });
      expect(await json('/counters')).toMatchObject({ tasks: { methods: { total: 7, http: 7, https: 0 } } });
      expect(await json('/?task=methods', { method: 'DELETE' })).toMatchObject({ requestCount: 0 });
      expect(echo.counters.get('methods')).toBeUndefined();
    });

    it('reads a body of any size without keeping it', async () => {
      expect(await json('/?task=body', { method: 'POST', body: Buffer.alloc(1 << 20) })).toMatchObject({ requestBodyBytes: 1 << 20 });
    });

    it('answers late, with another status, another size, in chunks', async () => {
      const at = performance.now();
      await json('/?delayMs=120');
      expect(performance.now() - at).toBeGreaterThanOrEqual(118);
      const sized = await fetch(`${base}/?status=503&size=100000`);
      expect([sized.status, sized.headers.get('content-length'), (await sized.text()).length]).toEqual([503, '100000', 100_000]);
      const chunked = await fetch(`${base}/?size=70000&chunked=1`);
      expect([chunked.headers.get('transfer-encoding'), (await chunked.text()).length]).toEqual(['chunked', 70_000]);
      expect((await fetch(`${base}/?chunked=1`)).headers.get('transfer-encoding')).toBe('chunked');
      expect((await fetch(`${base}/?status=204`)).status).toBe(204);
    });

    it('refuses wishes it cannot grant', async () => {
      for (const query of ['status=99', 'delay=x', 'size=-1', 'delayMs=1e99']) {
        const answer = await fetch(`${base}/?${query}`);
        expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringContaining(query.split('=')[0] ?? '') }]);
      }
    });

    it('forgets the oldest names when there are too many', async () => {
      for (let i = 0; i < 10_050; i += 1) echo.counters.count(`flood-${i}`, 'udp');
      expect(Object.keys(echo.counters.list().tasks)).toHaveLength(10_000);
      expect(echo.counters.forgotten).toBeGreaterThanOrEqual(50);
      await json('/counters', { method: 'DELETE' });
      expect(echo.counters.list().tasks).toEqual({});
    });

    it('listens on every address', async () => {
      expect(await (await fetch(`http://[::1]:${echo.ports.http}/`)).json()).toMatchObject({ clientIp: '::1' });
    });
  });

  describe('HTTPS', () => {
    const get = (host: string, servername: string, ca: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const request = httpsRequest({ host, port: echo.ports.https, servername, ca, path: '/?task=tls', agent: false }, (response) => {
          response.setEncoding('utf8');
          let body = '';
          response.on('data', (part: string) => (body += part));
          response.on('end', () => resolve(body));
        });
        request.on('error', reject).end();
      });

    it('is verified with the CA it hands out, by address and by name, and only so', async () => {
      const ca = await (await fetch(`${base}/ca.crt`)).text();
      expect(ca).toContain('BEGIN CERTIFICATE');
      for (const [host, name] of [['127.0.0.1', ''], ['::1', ''], ['127.0.0.1', 'echo.roundsman-system.svc'], ['127.0.0.1', 'node-1']] as const) {
        expect(JSON.parse(await get(host, name, ca))).toMatchObject({ TaskName: 'tls' });
      }
      await expect(get('127.0.0.1', 'somebody.else', ca)).rejects.toThrow(/altnames/);
      await expect(new Promise((_, reject) => httpsRequest({ host: '127.0.0.1', port: echo.ports.https }).on('error', reject).end())).rejects.toThrow();
      expect(echo.counters.get('tls')).toMatchObject({ total: 4, https: 4 });
    });

    it('speaks HTTP/2 with whoever asks for it', async () => {
      const { connect: h2connect } = await import('node:http2');
      const session = h2connect(`https://127.0.0.1:${echo.ports.https}`, { ca: await echo.ca() });
      const stream = session.request({ ':path': '/?task=h2' });
      let body = '';
      for await (const part of stream) body += String(part);
      expect(session.alpnProtocol).toBe('h2');
      expect(JSON.parse(body)).toMatchObject({ requestProtocol: 'HTTP/2.0', requestCount: 1 });
      session.close();
    });
  });

  describe('DNS', () => {
    const query = (name: string, type: RecordType, id = 7, edns?: number): Buffer =>
      dnsPacket.encode({
        type: 'query', id, flags: dnsPacket.RECURSION_DESIRED, questions: [{ type, name }],
        ...(edns === undefined ? {} : { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: edns, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] }] }),
      });
    const overUdp = (data: Buffer, host = '127.0.0.1'): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
        socket.once('message', (reply) => {
          socket.close();
          resolve(reply);
        });
        socket.once('error', reject);
        socket.send(data, echo.ports.dns, host);
      });
    const ask = async (name: string, type: RecordType, edns?: number): Promise<DecodedPacket> => dnsPacket.decode(await overUdp(query(name, type, 7, edns)));

    it('answers names that begin with echo or netdns-e2e, for every record type, and counts them', async () => {
      expect((await ask('echo-a.example.org', 'A')).answers).toEqual([expect.objectContaining({ type: 'A', data: '127.0.0.1', name: 'echo-a.example.org' })]);
      expect((await ask('Netdns-E2E-b.example.org', 'AAAA')).answers).toEqual([expect.objectContaining({ type: 'AAAA', data: '::1' })]);
      for (const type of ['TXT', 'SRV', 'MX', 'NS', 'CNAME', 'PTR', 'SOA', 'CAA'] as const) {
        const reply = await ask('echo-a.example.org', type);
        expect([type, (reply as { rcode?: string }).rcode, reply.answers?.length]).toEqual([type, 'NOERROR', 1]);
      }
      expect(await ask('echo-a.example.org', 'HINFO')).toMatchObject({ rcode: 'NOERROR', answers: [] });
      expect(dnsPacket.decode(await overUdp(query('echo-a.example.org', 'A'), '::1')).answers).toHaveLength(1);
      expect(echo.counters.get('echo-a')).toMatchObject({ total: 11, dnsUdp: 11 });
      expect(echo.counters.get('netdns-e2e-b')?.total).toBe(1);
    });

    it('gives the reply code that a name asks for, and refuses what it does not know', async () => {
      expect(await ask('nxdomain-x.example.org', 'A')).toMatchObject({ id: 7, rcode: 'NXDOMAIN', answers: [] });
      expect(await ask('servfail.example.org', 'A')).toMatchObject({ rcode: 'SERVFAIL' });
      expect(await ask('example.org', 'A')).toMatchObject({ rcode: 'REFUSED' });
      expect(echo.counters.get('example')).toBeUndefined();
      const at = performance.now();
      expect((await ask('delay150-x.example.org', 'A')).answers).toHaveLength(1);
      expect(performance.now() - at).toBeGreaterThanOrEqual(148);
    });

    it('cuts a long answer short over UDP unless the asker takes it, and not over TCP or TLS', async () => {
      expect(await ask('big.example.org', 'A')).toMatchObject({ flag_tc: true, answers: [] });
      expect((await ask('big.example.org', 'A', 4096)).answers).toHaveLength(120);
      const ca = await echo.ca();
      for (const open of [() => connect(echo.ports.dns, '127.0.0.1'), () => tlsConnect({ port: echo.ports.dot, host: '127.0.0.1', ca })]) {
        const socket = open();
        // Two queries in three pieces.
        const framed = [1, 2].map((id) => {
          const data = query('big-t.example.org', 'A', id);
          return Buffer.concat([Buffer.from([data.length >> 8, data.length & 255]), data]);
        });
        const bytes = Buffer.concat(framed);
        for (const piece of [bytes.subarray(0, 1), bytes.subarray(1, 40), bytes.subarray(40)]) socket.write(piece);
        let received = Buffer.alloc(0);
        const replies: DecodedPacket[] = [];
        for await (const part of socket) {
          received = Buffer.concat([received, part as Buffer]);
          while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
            replies.push(dnsPacket.decode(received.subarray(2, 2 + received.readUInt16BE(0))));
            received = received.subarray(2 + received.readUInt16BE(0));
          }
          if (replies.length === 2) break;
        }
        expect(replies.map(({ id, answers }) => [id, answers?.length])).toEqual([[1, 120], [2, 120]]);
      }
      expect(echo.counters.get('big-t')).toMatchObject({ total: 4, dnsTcp: 2, dot: 2 });
    });

    it('tells whoever sends rubbish that it is', async () => {
      const rubbish = Buffer.from([0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 63]);
      const reply = await overUdp(rubbish);
      expect([reply.readUInt16BE(0), reply.readUInt8(2) & 0x80, reply.readUInt8(3) & 15]).toEqual([9, 0x80, 1]);
      const update = query('echo.example.org', 'A');
      update.writeUInt8(5 << 3, 2);
      expect((await overUdp(update)).readUInt8(3) & 15).toBe(4);
    });

    it('forwards what it does not know, if it has an upstream', async () => {
      const asking = new EchoTarget({ addresses: ['127.0.0.1'], folder: await mkdtemp(join(folder, 'up-')), serverName: 'x', names: [], upstream: { address: '127.0.0.1', port: echo.ports.dns } });
      await asking.start();
      const socket = createSocket('udp4');
      const reply = new Promise<Buffer>((resolve) => socket.once('message', resolve));
      // Not known to the first; the second says so, and that comes back.
      socket.send(query('example.org', 'A', 99), asking.ports.dns, '127.0.0.1');
      expect(dnsPacket.decode(await reply)).toMatchObject({ id: 99, rcode: 'REFUSED' });
      socket.close();
      await asking.stop();
    });
  });

  it('sends datagrams back and counts them under their task', async () => {
    const socket = createSocket('udp6');
    for (const text of ['task=udp-t hello', 'just text']) {
      const reply = new Promise<string>((resolve) => socket.once('message', (data) => resolve(data.toString())));
      socket.send(text, echo.ports.udp, '::1');
      expect(await reply).toBe(text);
    }
    socket.close();
    expect(echo.counters.get('udp-t')).toMatchObject({ total: 1, udp: 1 });
  });

  it('sends no datagram back to what may be another echo target', () => {
    const answered: number[] = [];
    const socket = Object.assign(new EventEmitter(), { address: () => ({ port: 8007 }), send: (_: Buffer, port: number) => void answered.push(port) });
    serveUdpEcho(socket as unknown as Socket, new Counters());
    for (const port of [7, 1023, 8007, 1024, 40_000]) socket.emit('message', Buffer.from('x'), { address: '10.0.0.1', port });
    expect(answered).toEqual([1024, 40_000]);
  });

  it('says whether all of it listens, uncounted', async () => {
    const health = async () => [(await fetch(`${base}/healthz`)).status, await (await fetch(`${base}/healthz`)).text()];
    const before = JSON.stringify(echo.counters.list());
    expect(await health()).toEqual([200, 'ok\n']);
    echo.problem = 'the runner is stopping';
    expect(await health()).toEqual([503, 'the runner is stopping\n']);
    echo.problem = undefined;
    expect(JSON.stringify(echo.counters.list())).toBe(before);
  });

  it('listening on every address answers a datagram from the address that was asked', async () => {
    const every = new EchoTarget({ addresses: everyAddress(), folder: await mkdtemp(join(folder, 'every-')), serverName: 'x', names: [] });
    await every.start();
    for (const host of ['127.0.0.1', ...ownAddresses().filter(({ family }) => family === 'v4').slice(0, 1).map(({ address }) => address)]) {
      // Of its replies a connected socket gets those only that come from where it is connected to.
      const socket = createSocket('udp4');
      await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
      await new Promise<void>((resolve) => socket.connect(every.ports.udp, host, resolve));
      const reply = new Promise<string>((resolve) => socket.once('message', (data) => resolve(data.toString())));
      socket.send(`to ${host}`);
      expect(await reply).toBe(`to ${host}`);
      socket.close();
    }
    expect(every.addresses.map(({ address }) => address)).not.toContain('0.0.0.0');
    await every.stop();
  });

  it('lets in by HTTPS only whom its clients’ authority has signed, with a certificate that it was given', async () => {
    const authority = await echoCertificate(await mkdtemp(join(folder, 'ca-')), ['localhost']);
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({ name: 'CN=client', signingAlgorithm: algorithm, keys });
    const client = { cert: certificate.toString('pem'), key: PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY') };
    const strict = new EchoTarget({ addresses: ['127.0.0.1'], folder: await mkdtemp(join(folder, 'strict-')), serverName: 'x', names: [], certificate: authority, clientCa: client.cert });
    await strict.start();
    expect(await strict.ca()).toBe(authority.ca);
    const get = (own: object): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        httpsRequest({ host: '127.0.0.1', servername: 'localhost', port: strict.ports.https, ca: authority.ca, agent: false, ...own }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on('error', reject).end();
      });
    await expect(get({})).rejects.toThrow();
    expect(await get(client)).toBe(200);
    await strict.stop();
  });

  it('keeps ports, CA and certificate over a restart; a new name gets a new certificate of the same CA', async () => {
    const own = await mkdtemp(join(folder, 'again-'));
    const open = async (names: string[]): Promise<EchoTarget> => {
      const target = new EchoTarget({ addresses: ['127.0.0.1'], folder: own, serverName: 'x', names });
      await target.start();
      return target;
    };
    const first = await open(['a']);
    await first.stop();
    const second = await open(['a', 'b']);
    expect(second.ports).toEqual(first.ports);
    expect(await second.ca()).toBe(await first.ca());
    const socket = tlsConnect({ host: '127.0.0.1', port: second.ports.dot, servername: 'b', ca: await first.ca() });
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    socket.destroy();
    await second.stop();
    // Somebody else has the port now: another one is taken.
    const thief = createServer();
    await new Promise<void>((resolve) => thief.listen(first.ports.http, '127.0.0.1', resolve));
    const third = await open(['a', 'b']);
    expect(third.ports.http).not.toBe((thief.address() as AddressInfo).port);
    expect(third.ports.dns).toBe(first.ports.dns);
    await third.stop();
    await expect(new EchoTarget({ addresses: ['127.0.0.1'], folder: own, serverName: 'x', names: [], ports: { http: first.ports.http } }).start()).rejects.toThrow(/cannot listen for http.*EADDRINUSE/);
    thief.close();
  });

  it('does not mind a client that goes away in the middle', async () => {
    const request = httpRequest(`${base}/?delayMs=300`);
    request.on('error', () => undefined).end();
    await new Promise((resolve) => setTimeout(resolve, 50));
    request.destroy();
    const half = connect(echo.ports.https, '127.0.0.1');
    await new Promise((resolve) => half.once('connect', resolve));
    half.write('not tls at all');
    await new Promise((resolve) => half.once('close', resolve));
    expect(await json('/')).toMatchObject({ serverName: 'runner-1' });
  });
});
