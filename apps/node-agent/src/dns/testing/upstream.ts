import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { decode, encode, RECURSION_AVAILABLE, TRUNCATED_RESPONSE, type Packet, type Question } from 'dns-packet';

/** What it answers to a question; undefined: nothing at all. `message` sends bytes as they are. */
export type Script = (question: Question, channel: 'udp' | 'tcp', query: Packet) => Partial<Packet> | { readonly message: Buffer } | undefined;

/** On one port for both: one that the kernel gives to the one may be in use with the other. */
async function listening(): Promise<{ readonly datagrams: Datagrams; readonly streams: Server }> {
  for (;;) {
    const datagrams = createSocket('udp4');
    datagrams.bind(0, '127.0.0.1');
    await once(datagrams, 'listening');
    const streams = createServer();
    streams.listen(datagrams.address().port, '127.0.0.1');
    const isFree = await once(streams, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error;
        return false;
      },
    );
    if (isFree) return { datagrams, streams };
    datagrams.close();
  }
}

/** A DNS server of somebody else, that does what a test says. */
export class TestUpstream {
  /** Names as they were asked, with the channel. */
  readonly asked: string[] = [];
  readonly ports = new Set<number>();
  readonly ids = new Set<number>();
  readonly address = '127.0.0.1';
  /** Answers by UDP wait for it. */
  gate: Promise<void> = Promise.resolve();
  private constructor(
    readonly port: number,
    readonly datagrams: Datagrams,
    readonly streams: Server,
    public script: Script,
  ) {}

  static async start(script: Script): Promise<TestUpstream> {
    const { datagrams, streams } = await listening();
    const upstream = new TestUpstream(datagrams.address().port, datagrams, streams, script);
    datagrams.on('message', (message, from) => {
      upstream.ports.add(from.port);
      const answer = upstream.#answer(message, 'udp');
      if (answer !== undefined) void upstream.gate.then(() => datagrams.send(answer, from.port, from.address));
    });
    streams.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data: Buffer) => {
        const answer = upstream.#answer(data.subarray(2), 'tcp');
        if (answer === undefined) socket.end();
        else socket.end(Buffer.concat([Buffer.of(answer.length >> 8, answer.length & 255), answer]));
      });
    });
    return upstream;
  }

  async stop(): Promise<void> {
    this.datagrams.close();
    this.streams.close();
    await once(this.streams, 'close');
  }

  #answer(message: Buffer, channel: 'udp' | 'tcp'): Buffer | undefined {
    const query = decode(message);
    const question = query.questions![0]!;
    this.asked.push(`${channel} ${question.name}`);
    this.ids.add(query.id!);
    const said = this.script(question, channel, query);
    if (said === undefined || 'message' in said) return said?.message as Buffer | undefined;
    return encode({ type: 'response', id: query.id!, flags: RECURSION_AVAILABLE, questions: [question], ...said });
  }
}

export const address = (name: string, data: string, ttl = 60): Partial<Packet> => ({ answers: [{ type: 'A', name, ttl, data }] });
export const nothing = (code: number, minimum = 60): Partial<Packet> => ({
  flags: RECURSION_AVAILABLE | code,
  authorities: [{ type: 'SOA', name: 'com', ttl: 900, data: { mname: 'ns.com', rname: 'admin.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum } }],
});
export const truncated: Partial<Packet> = { flags: RECURSION_AVAILABLE | TRUNCATED_RESPONSE };
