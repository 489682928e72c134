import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createTcp, type Socket } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decode, encode, type Packet } from 'dns-packet';
import { dnsTargetSchema, targetResultSchema, type DnsTarget, type Materials, type RequestBudget, type SuccessCondition, type TargetResult } from '@roundsman/api';
import { runTarget } from '../round.ts';
import { makePki, type TestPki } from '../testing/certificates.ts';
import { closeAll, listen } from '../testing/listen.ts';

/** A port at which nobody listens. */
const nobody = 1;
const udpServers: UdpSocket[] = [];
afterEach(async () => {
  for (const socket of udpServers.splice(0)) socket.close();
  await closeAll();
});

interface Run {
  target?: Partial<DnsTarget>;
  budget?: Partial<RequestBudget>;
  expect?: SuccessCondition;
  materials?: Materials;
}

/** 20 queries in 200 ms unless told otherwise; an answer may take as long as this machine does. */
async function probe(port: number, protocol: DnsTarget['protocol'], run: Run = {}): Promise<TargetResult> {
  const target = dnsTargetSchema.parse({ id: 'dns', layer: 'dns', probe: 'dns', server: '127.0.0.1', port, protocol, domain: 'shop.example', recordType: 'A', ...run.target });
  const result = await runTarget(target, { durationMs: 200, qps: 100, timeoutMs: 10_000, ...run.budget }, run.expect ?? { successRate: 1 }, run.materials ?? {}, { signal: new AbortController().signal });
  expect(result.planned).toBe(result.sent + result.unsent);
  expect(result.sent).toBe(result.succeeded + result.failed);
  return targetResultSchema.parse(result);
}

const answer = (query: Buffer, flags = 0): Buffer => {
  const { id, questions } = decode(query);
  return encode({ type: 'response', id: id!, flags, questions: questions!, answers: [{ type: 'A', name: questions![0]!.name, data: '10.0.0.1', ttl: 5 }] });
};

async function udp(serve: (query: Buffer, reply: (bytes: Buffer) => void, from: RemoteInfo, nth: number) => void, port = 0) {
  const received: Packet[] = [];
  const ports = new Set<number>();
  const socket = createSocket('udp4');
  udpServers.push(socket);
  socket.on('message', (query, from) => {
    received.push(decode(query));
    ports.add(from.port);
    serve(query, (bytes) => void (udpServers.includes(socket) && socket.send(bytes, from.port, from.address)), from, received.length);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, received, ports };
}

const frame = (message: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

/** Calls `serve` with each query of a TCP or TLS connection. */
function framed(serve: (query: Buffer, socket: Socket, nth: number) => void) {
  const seen = { queries: 0, connections: 0 };
  const onConnection = (socket: Socket): void => {
    seen.connections += 1;
    socket.on('error', () => undefined);
    let held = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      held = Buffer.concat([held, data]);
      while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
        const query = held.subarray(2, 2 + held.readUInt16BE(0));
        held = held.subarray(2 + query.length);
        serve(query, socket, ++seen.queries);
      }
    });
  };
  return { seen, onConnection };
}

describe('DNS over UDP', () => {
  it('sends exactly the budget, from several ports, each with its own id', async () => {
    const server = await udp((query, reply) => reply(answer(query)));
    const result = await probe(server.port, 'udp', { budget: { qps: 500, durationMs: 400 }, expect: { successRate: 1, answers: ['10.0.0.1'] } });
    expect(result).toMatchObject({ planned: 200, sent: 200, succeeded: 200, ok: true, replyCodes: { NOERROR: 200 }, address: `127.0.0.1:${server.port}/A/shop.example`, method: 'udp', family: 'v4' });
    expect(server.received).toHaveLength(200);
    expect(new Set(server.received.map((q) => q.id)).size).toBe(200);
    expect(server.ports.size).toBe(4);
    expect(result.phases.firstByte!.count).toBe(200);
  });

  it('asks for any record type and judges code and answers', async () => {
    const server = await udp((query, reply) => reply(answer(query, 3)));
    expect(await probe(server.port, 'udp', { target: { recordType: 'SRV', domain: '_a._tcp.shop.example.' } })).toMatchObject({ succeeded: 0, errors: { rcode: 20 }, replyCodes: { NXDOMAIN: 20 } });
    expect(server.received[0]!.questions).toMatchObject([{ type: 'SRV', name: '_a._tcp.shop.example' }]);
    expect(await probe(server.port, 'udp', { expect: { successRate: 1, rcode: 'NXDOMAIN' } })).toMatchObject({ ok: true });
    const fine = await udp((query, reply) => reply(answer(query)));
    const result = await probe(fine.port, 'udp', { expect: { successRate: 1, answers: ['10.9.9.9'] } });
    expect(result).toMatchObject({ errors: { answer: 20 }, replyCodes: { NOERROR: 20 } });
    expect(result.failures[0]!.message).toContain('"10.9.9.9" is not among the answers');
  });

  it('counts silence as timeout, a closed port as refused', async () => {
    const silent = await udp(() => undefined);
    expect(await probe(silent.port, 'udp', { budget: { timeoutMs: 50 } })).toMatchObject({ failed: 20, errors: { timeout: 20 } });
    expect((await probe(nobody, 'udp')).errors).toEqual({ refused: 20 });
  });

  it('says at once when the system refuses to send', async () => {
    // A broadcast address needs a permission that the socket does not have.
    const result = await probe(53, 'udp', { target: { server: '255.255.255.255' }, budget: { timeoutMs: 30_000 } });
    expect(result).toMatchObject({ sent: 20, failed: 20, errors: { local: 20 } });
  });

  it('takes no wrong reply for the right one', async () => {
    const server = await udp((query, reply) => {
      const wrongId = answer(query);
      wrongId.writeUInt16BE(wrongId.readUInt16BE(0) ^ 0x5555, 0);
      reply(wrongId);
      reply(query);
      reply(Buffer.from('junk'));
      reply(encode({ type: 'response', id: query.readUInt16BE(0), questions: [{ type: 'A', name: 'evil.example' }] }));
    });
    expect(await probe(server.port, 'udp', { budget: { timeoutMs: 100 } })).toMatchObject({ succeeded: 0, errors: { timeout: 20 } });
  });

  it('takes no late or doubled reply for another query\'s', async () => {
    const server = await udp((query, reply, _, nth) => {
      if (nth % 2 === 0) {
        reply(answer(query));
        reply(answer(query));
      } else setTimeout(() => reply(answer(query)), 2_600);
    });
    const result = await probe(server.port, 'udp', { budget: { timeoutMs: 2_500, durationMs: 400, qps: 50 } });
    expect(result).toMatchObject({ sent: 20, succeeded: 10, failed: 10, errors: { timeout: 10 } });
  });

  it('asks again over TCP when the reply is truncated', async () => {
    const tcp = framed((query, socket) => void socket.write(frame(answer(query))));
    const port = await listen(createTcp(tcp.onConnection));
    const server = await udp((query, reply) => {
      const { id, questions } = decode(query);
      reply(encode({ type: 'response', id: id!, flags: 0x0200, questions: questions! }));
    }, port);
    const result = await probe(port, 'udp', { expect: { successRate: 1, answers: ['10.0.0.1'] } });
    expect(result).toMatchObject({ sent: 20, succeeded: 20, replyCodes: { NOERROR: 20 } });
    expect(server.received).toHaveLength(20);
    expect(tcp.seen).toEqual({ queries: 20, connections: 1 });
    expect(result.phases.connect!.count).toBe(1);
  });
});

describe('DNS over TCP', () => {
  it('pipelines on one connection and takes replies in any order, split anyhow', async () => {
    const waiting: Buffer[] = [];
    let bytes = Buffer.alloc(0);
    const tcp = framed((query, socket) => {
      waiting.push(frame(answer(query)));
      if (waiting.length < 4) return;
      const writing = bytes.length > 0;
      bytes = Buffer.concat([bytes, ...waiting.splice(0).reverse()]);
      socket.setNoDelay(true);
      const step = (): void => {
        socket.write(bytes.subarray(0, 7));
        bytes = bytes.subarray(7);
        if (bytes.length > 0) setImmediate(step);
      };
      if (!writing) step();
    });
    const port = await listen(createTcp(tcp.onConnection));
    const result = await probe(port, 'tcp', { expect: { successRate: 1, answers: ['10.0.0.1'] } });
    expect(result).toMatchObject({ sent: 20, succeeded: 20 });
    expect(tcp.seen).toEqual({ queries: 20, connections: 1 });
  });

  it('opens a new connection when the server closes after each reply', async () => {
    const tcp = framed((query, socket) => void socket.end(frame(answer(query))));
    const port = await listen(createTcp(tcp.onConnection));
    expect(await probe(port, 'tcp', { budget: { qps: 40, durationMs: 500 } })).toMatchObject({ sent: 20, succeeded: 20 });
    expect(tcp.seen.connections).toBeGreaterThan(5);
  });

  it.each([1, 3])('gives each query a connection of its own when the server closes after %d replies', async (replies) => {
    const answered = new Map<Socket, number>();
    const tcp = framed((query, socket) => {
      const count = (answered.get(socket) ?? 0) + 1;
      answered.set(socket, count);
      if (count < replies) socket.write(frame(answer(query)));
      else if (count === replies) setTimeout(() => socket.end(frame(answer(query))), 5);
    });
    const port = await listen(createTcp(tcp.onConnection));
    const result = await probe(port, 'tcp', { budget: { qps: 400, durationMs: 500, timeoutMs: 60_000 } });
    expect(result.errors).toEqual({});
    expect(result).toMatchObject({ sent: 200, succeeded: 200, ok: true });
  });

  it('counts what stays unanswered after one more try, refused, silence and nonsense', async () => {
    const closing = framed((_, socket) => void socket.destroy());
    const port = await listen(createTcp(closing.onConnection));
    const result = await probe(port, 'tcp');
    expect(result.failed).toBe(20);
    expect((result.errors.closed ?? 0) + (result.errors.reset ?? 0)).toBe(20);
    expect(await probe(nobody, 'tcp')).toMatchObject({ errors: { refused: 20 } });
    const silent = framed(() => undefined);
    expect(await probe(await listen(createTcp(silent.onConnection)), 'tcp', { budget: { timeoutMs: 60 } })).toMatchObject({ errors: { timeout: 20 } });
    const other = framed((_, socket) => void socket.write('220 mail.example ESMTP\r\n'.repeat(2000)));
    expect(await probe(await listen(createTcp(other.onConnection)), 'tcp')).toMatchObject({ failed: 20, errors: { protocol: 20 } });
  });
});

describe('DNS over TLS', () => {
  let pki: TestPki;
  beforeAll(async () => {
    pki = await makePki();
  });

  it('verifies the server only with a CA, by its name', async () => {
    const tls = framed((query, socket) => void socket.write(frame(answer(query))));
    const server = createTls(pki.server);
    server.on('secureConnection', tls.onConnection);
    const port = await listen(server);
    const result = await probe(port, 'tcp-tls');
    expect(result).toMatchObject({ succeeded: 20, method: 'tcp-tls' });
    expect(result.phases.tls!.count).toBe(1);
    const run = (over: Partial<DnsTarget>, ca: string) => probe(port, 'tcp-tls', { target: { hasTls: true, ...over }, materials: { tls: { ca } } });
    expect(await run({}, pki.ca)).toMatchObject({ succeeded: 20 });
    expect(await run({ serverName: 'probe.test' }, pki.ca)).toMatchObject({ succeeded: 20 });
    expect(await run({ serverName: 'other.test' }, pki.ca)).toMatchObject({ errors: { tls: 20 } });
    expect(await run({}, (await makePki()).ca)).toMatchObject({ errors: { tls: 20 } });
  });

  it('tells a connection that is never made', async () => {
    const port = await listen(createTcp(() => undefined));
    expect(await probe(port, 'tcp-tls', { budget: { timeoutMs: 60 } })).toMatchObject({ failed: 20, errors: { 'connect-timeout': 20 } });
  });
});
