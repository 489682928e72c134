import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { decode, encode, RECURSION_DESIRED, type Answer, type DecodedPacket, type Packet, type RecordType } from 'dns-packet';

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}
/** Its types leave the code out. */
export type Answered = DecodedPacket & { readonly rcode: string };
export const read = (message: Buffer): Answered => decode(message) as Answered;
export type Asked = Partial<Packet> & { readonly payload?: number };

export const queryOf = (name: string, type: RecordType = 'A', { payload, ...more }: Asked = {}): Buffer =>
  encode({
    type: 'query', id: 4711, flags: RECURSION_DESIRED, questions: [{ name, type }],
    ...(payload === undefined ? {} : { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: payload, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] }] }),
    ...more,
  });

/** The answer to a message over UDP. Rejects when there is none in time. */
export async function sendUdp({ address, port }: Endpoint, message: Buffer, withinMs = 20_000): Promise<Buffer> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.send(message, port, address);
    const [answer] = (await once(socket, 'message', { signal: AbortSignal.timeout(withinMs) })) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
}

/** Answers to messages over one TCP connection, as they come. */
export async function sendTcp({ address, port }: Endpoint, messages: readonly Buffer[], withinMs = 20_000): Promise<Buffer[]> {
  const socket = connect(port, address);
  const signal = AbortSignal.timeout(withinMs);
  signal.addEventListener('abort', () => socket.destroy(new Error('no answer in time')));
  for (const message of messages) socket.write(Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message]));
  const answers: Buffer[] = [];
  let rest = Buffer.alloc(0);
  for await (const data of socket) {
    rest = Buffer.concat([rest, data as Buffer]);
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      answers.push(rest.subarray(2, 2 + rest.readUInt16BE(0)));
      rest = rest.subarray(2 + answers.at(-1)!.length);
    }
    if (answers.length === messages.length) break;
  }
  socket.destroy();
  return answers;
}

export const ask = async (at: Endpoint, name: string, type: RecordType = 'A', more: Asked = {}): Promise<Answered> => read(await sendUdp(at, queryOf(name, type, more)));

/** `NOERROR 10.0.0.1 10.0.0.2`: the code and what was answered, in order of text. */
export const textOf = (packet: Answered): string => [packet.rcode, ...(packet.answers ?? []).map(dataText).sort()].join(' ');

function dataText(answer: Answer): string {
  if (answer.type === 'SRV') return `${answer.data.target}:${answer.data.port}`;
  if (answer.type === 'TXT') return [answer.data].flat().map((part) => part.toString()).join('');
  if (answer.type === 'SOA') return answer.data.mname;
  return 'data' in answer ? String(answer.data) : '';
}
