import { badRequest } from '@roundsman/api';
import type { UpgradeRequest } from '../http/upgrade.ts';
import { SpdySession, type SpdyStream } from '../spdy/session.ts';
import { costOf, waitingBytes, type Client, type Ending, type FromClient } from './client.ts';
import { Queue } from './queue.ts';

/** How exec and attach are spoken over SPDY; the older ones have no Status at the end. */
export const streamProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;
export const forwardProtocol = 'portforward.k8s.io';
const protocolHeader = 'x-stream-protocol-version';
/** Milliseconds within which a client opens the streams that it asked for. */
const creationMs = 30_000;

/** The protocols that a client offers, in one header or in several. */
export function offeredProtocols({ request }: UpgradeRequest): string {
  return (request.headersDistinct[protocolHeader] ?? []).join(',');
}

/** Answers the request: from here on its connection speaks SPDY/3.1. */
export function acceptSpdy({ socket, head }: UpgradeRequest, protocol: string, onStream: (stream: SpdyStream) => void): SpdySession {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  return new SpdySession(socket, onStream);
}

/** One stream for each of error, stdin, stdout, stderr and resize that the request asks for, by their header `streamtype`. */
export async function acceptStreams(upgrade: UpgradeRequest, protocol: string, wanted: readonly string[]): Promise<Client> {
  const streams = new Map<string, SpdyStream>();
  const session = await new Promise<SpdySession>((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(badRequest(why));
      accepted.destroy();
    };
    const timer = setTimeout(() => fail('timed out waiting for client to create streams'), creationMs);
    const accepted = acceptSpdy(upgrade, protocol, (stream) => {
      const type = stream.headers.get('streamtype') ?? '';
      if (!wanted.includes(type) || streams.has(type)) return fail(`unexpected stream type: ${JSON.stringify(type)}`);
      streams.set(type, stream);
      if (streams.size < wanted.length) return;
      clearTimeout(timer);
      resolve(accepted);
    });
    void accepted.closed.then(() => fail('the client went away'));
  });
  return new SpdyClient(session, streams);
}

class SpdyClient implements Client {
  readonly incoming: Queue<FromClient> = new Queue<FromClient>(waitingBytes, costOf);
  readonly #session: SpdySession;
  readonly #streams: ReadonlyMap<string, SpdyStream>;

  constructor(session: SpdySession, streams: ReadonlyMap<string, SpdyStream>) {
    this.#session = session;
    this.#streams = streams;
    void session.closed.then(() => this.incoming.end());
    void this.#take('stdin', (stdin) => ({ stdin }));
    void this.#take('resize', (sizes) => ({ sizes }));
  }

  async write(channel: 1 | 2, bytes: Uint8Array): Promise<void> {
    await this.#streams.get(channel === 1 ? 'stdout' : 'stderr')?.write(bytes);
  }

  async finish(ending: Ending): Promise<void> {
    const error = this.#streams.get('error');
    await error?.write(Buffer.from(JSON.stringify(ending)));
    for (const stream of this.#streams.values()) await stream.end();
    await this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
    this.incoming.drop();
  }

  async #take(type: 'stdin' | 'resize', item: (bytes: Buffer) => FromClient): Promise<void> {
    const stream = this.#streams.get(type);
    if (stream === undefined) return;
    for await (const bytes of stream.incoming) {
      this.incoming.push(item(bytes));
      await this.incoming.room();
    }
    if (type === 'stdin') this.incoming.push({ stdin: 'end' });
  }
}
