import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6, type Socket as Stream } from 'node:net';
import type { Answer, Packet, Question, RecordType } from 'dns-packet';
import dnsPacket from 'dns-packet';
import type { Channel, Counters } from './counters.ts';

const ttl = 60;
const longestDelayMs = 60_000;
const idleMs = 30_000;
const forwardTimeoutMs = 2_000;
const rcodes = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
/** Bits of the header's flags. */
const flag = { authoritative: 1 << 10, truncated: 1 << 9, recursionDesired: 1 << 8 } as const;

export interface Upstream {
  readonly address: string;
  readonly port: number;
}

/** Synthetic data for a counted name, one entry per record type it can be asked for. */
const records: Partial<Record<RecordType, (name: string) => Answer>> = {
  A: (name) => ({ type: 'A', name, ttl, data: '127.0.0.1' }),
  AAAA: (name) => ({ type: 'AAAA', name, ttl, data: '::1' }),
  TXT: (name) => ({ type: 'TXT', name, ttl, data: [name.split('.')[0] ?? name] }),
  SRV: (name) => ({ type: 'SRV', name, ttl, data: { priority: 10, weight: 5, port: 80, target: name } }),
  MX: (name) => ({ type: 'MX', name, ttl, data: { preference: 10, exchange: name } }),
  NS: (name) => ({ type: 'NS', name, ttl, data: `ns.${name}` }),
  CNAME: (name) => ({ type: 'CNAME', name, ttl, data: `alias.${name}` }),
  PTR: (name) => ({ type: 'PTR', name, ttl, data: name }),
  CAA: (name) => ({ type: 'CAA', name, ttl, data: { flags: 0, tag: 'issue', value: 'roundsman.invalid' } }),
  SOA: (name) => ({ type: 'SOA', name, ttl, data: { mname: `ns.${name}`, rname: `admin.${name}`, serial: 1, refresh: 3600, retry: 600, expire: 86_400, minimum: ttl } }),
};
const opt: Answer = { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] };
const bigAnswers = Array.from({ length: 120 }, (_, i) => `127.1.0.${i + 1}`);

/**
 * The DNS side of the echo target. The first label of a name decides: `echo*` and `netdns-e2e*` have synthetic records of every
 * type; `nxdomain*` and `servfail*` get that reply code; `delay<ms>*` answers late; `big*` is too long for a datagram. All of
 * these are counted under the label. Anything else is forwarded when there is an upstream, and REFUSED otherwise.
 */
export class EchoDns {
  readonly #counters: Counters;
  readonly #upstream: Upstream | undefined;

  constructor(counters: Counters, upstream?: Upstream) {
    this.#counters = counters;
    this.#upstream = upstream;
  }

  /** Answers on a bound UDP socket. */
  serveUdp(socket: Socket): void {
    socket.on('message', (query: Buffer, from: RemoteInfo) => {
      this.#answer(query, 'dnsUdp', (reply) =>
        socket.send(reply, from.port, from.address, () => {
          // Whoever asked is gone: nothing is owed to it.
        }),
      );
    });
  }

  /** Answers on a TCP or TLS connection, several queries in any order (RFC 7766). */
  serveStream(stream: Stream, channel: 'dnsTcp' | 'dot'): void {
    let rest: Buffer = Buffer.alloc(0);
    stream.setTimeout(idleMs, () => stream.destroy());
    stream.setNoDelay(true);
    stream.on('error', () => stream.destroy());
    stream.on('data', (data: Buffer) => {
      rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const query = rest.subarray(2, 2 + rest.readUInt16BE(0));
        rest = rest.subarray(2 + query.length);
        this.#answer(query, channel, (reply) => {
          if (!stream.writable) return;
          const length = Buffer.allocUnsafe(2);
          length.writeUInt16BE(reply.length);
          stream.write(Buffer.concat([length, reply]));
        });
      }
    });
  }

  #answer(query: Buffer, channel: Channel, reply: (data: Buffer) => void): void {
    // Shorter than a header, or itself a reply: answering could loop.
    if (query.length < 12 || (query.readUInt8(2) & 0x80) !== 0) return;
    let packet: Packet;
    try {
      packet = dnsPacket.decode(query);
    } catch {
      return reply(errorReply(query, rcodes.FORMERR));
    }
    const question = packet.questions?.[0];
    if (question === undefined || packet.questions?.length !== 1) return reply(errorReply(query, rcodes.FORMERR));
    // Any opcode but QUERY.
    if ((query.readUInt8(2) & 0x78) !== 0) return reply(errorReply(query, rcodes.NOTIMP));
    const label = (question.name.split('.')[0] ?? '').toLowerCase();
    const kind = /^(echo|netdns-e2e|nxdomain|servfail|delay|big)/.exec(label)?.[1];
    if (kind === undefined) {
      if (this.#upstream === undefined) return reply(encode(packet, [], rcodes.REFUSED));
      return forward(this.#upstream, query, reply);
    }
    this.#counters.count(label, channel);
    if (kind === 'nxdomain') return reply(encode(packet, [], rcodes.NXDOMAIN));
    if (kind === 'servfail') return reply(encode(packet, [], rcodes.SERVFAIL));
    const full = encode(packet, answersTo(question, kind === 'big'), 0);
    const data = channel === 'dnsUdp' && full.length > payloadOf(packet) ? encode(packet, [], flag.truncated) : full;
    const delayMs = kind === 'delay' ? Math.min(longestDelayMs, Number(/^delay(\d{1,9})/.exec(label)?.[1] ?? 0)) : 0;
    if (delayMs === 0) reply(data);
    else setTimeout(() => reply(data), delayMs).unref();
  }
}

function answersTo({ name, type }: Question, big: boolean): Answer[] {
  if (big && type === 'A') return bigAnswers.map((data) => ({ type, name, ttl, data }));
  if (big) return [{ type: 'TXT', name, ttl, data: Array.from({ length: 12 }, () => '.'.repeat(250)) }];
  const record = records[type];
  return record === undefined ? [] : [record(name)];
}

/** The largest datagram the asker takes: 512 bytes, or what its OPT record says. */
function payloadOf(packet: Packet): number {
  const opt = packet.additionals?.find((record) => record.type === 'OPT');
  return opt?.type === 'OPT' ? Math.max(512, opt.udpPayloadSize) : 512;
}

function encode(query: Packet, answers: Answer[], flags: number): Buffer {
  return dnsPacket.encode({
    type: 'response',
    ...(query.id === undefined ? {} : { id: query.id }),
    flags: flag.authoritative | ((query.flags ?? 0) & flag.recursionDesired) | flags,
    questions: query.questions ?? [],
    answers,
    // RFC 6891: who sends an OPT record gets one back.
    additionals: query.additionals?.some((record) => record.type === 'OPT') === true ? [opt] : [],
  });
}

/** For a query that cannot be read: its header, nothing else. */
function errorReply(query: Buffer, rcode: number): Buffer {
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8000 | (query.readUInt16BE(2) & 0x7900) | rcode, 2);
  return header;
}

/** Asks the upstream by UDP; no answer in time is SERVFAIL. */
function forward(upstream: Upstream, query: Buffer, reply: (data: Buffer) => void): void {
  const socket = createSocket(isIPv6(upstream.address) ? 'udp6' : 'udp4');
  const end = (data: Buffer): void => {
    clearTimeout(timer);
    socket.removeAllListeners('message');
    socket.close();
    reply(data);
  };
  const timer = setTimeout(() => end(errorReply(query, rcodes.SERVFAIL)), forwardTimeoutMs);
  socket.once('error', () => end(errorReply(query, rcodes.SERVFAIL)));
  socket.on('message', (data, from) => {
    if (from.port === upstream.port && data.length >= 12 && data.readUInt16BE(0) === query.readUInt16BE(0)) end(data);
  });
  socket.send(query, upstream.port, upstream.address);
}
