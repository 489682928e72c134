import { createSocket, type RemoteInfo, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import type { Reply } from './resolver.ts';

/** Of TCP connections: those that ask nothing for so long are closed, and no more are let in. */
const idleMs = 10_000;
const mostConnections = 256;
/** Questions of one connection that are answered at the same time: the others wait in the kernel. */
const mostAtOnce = 64;
const receiveBytes = 1 << 20;
/** Tries to find a port that is free for both. */
const tries = 20;

export interface DnsHandler {
  /** Whether who asks from there is answered at all. */
  admits(address: string): boolean;
  /** As Resolver.reply; also counts and measures. */
  reply(message: Buffer, channel: 'udp' | 'tcp'): Reply | Promise<Reply> | undefined;
}

/** One address and port on which DNS is answered, over UDP and TCP. */
export class DnsServer {
  readonly #connections = new Set<Socket>();
  private constructor(
    readonly address: string,
    readonly port: number,
    readonly datagrams: Datagrams,
    readonly streams: Server,
  ) {}

  /** Port 0: `wished` when that is free, else any. Rejects when the address is not this machine's or the port is taken. */
  static async listen(handler: DnsHandler, address: string, port: number, wished = 0): Promise<DnsServer> {
    let last: unknown;
    for (let attempt = 0; attempt < (port === 0 ? tries : 1); attempt++) {
      const datagrams = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', recvBufferSize: receiveBytes });
      const streams = createServer();
      try {
        datagrams.bind(port === 0 && attempt === 0 ? wished : port, address);
        await once(datagrams, 'listening');
        const { port: chosen } = datagrams.address();
        streams.listen(chosen, address);
        await once(streams, 'listening');
        const server = new DnsServer(address, chosen, datagrams, streams);
        server.#serve(handler);
        return server;
      } catch (error) {
        last = error;
        close(datagrams);
        streams.close();
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') break;
      }
    }
    throw last;
  }

  async stop(): Promise<void> {
    close(this.datagrams);
    const closed = once(this.streams, 'close');
    this.streams.close();
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }

  #serve(handler: DnsHandler): void {
    this.datagrams.on('message', (message: Buffer, from: RemoteInfo) => answerDatagram(handler, this.datagrams, message, from));
    // Of one answer that could not be sent; whoever asked asks again.
    this.datagrams.on('error', () => undefined);
    this.streams.maxConnections = mostConnections;
    this.streams.on('connection', (connection) => {
      if (!handler.admits(connection.remoteAddress ?? '')) {
        connection.destroy();
        return;
      }
      this.#connections.add(connection);
      connection.on('close', () => this.#connections.delete(connection));
      answerStream(handler, connection);
    });
    this.streams.on('error', () => undefined);
  }
}

function close(socket: Datagrams): void {
  try {
    socket.removeAllListeners('message');
    socket.close();
  } catch {
    // Not open, or not any more.
  }
}

function answerDatagram(handler: DnsHandler, socket: Datagrams, message: Buffer, { port, address }: RemoteInfo): void {
  const send = ({ message: reply }: Reply): void => {
    try {
      socket.send(reply, port, address, () => undefined);
    } catch {
      // Closed meanwhile, or port 0: nothing is owed to who asks from there.
    }
  };
  if (!handler.admits(address)) return;
  const reply = handler.reply(message, 'udp');
  if (reply instanceof Promise) void reply.then(send);
  else if (reply !== undefined) send(reply);
}

/** Several questions in any order (RFC 7766), each with its length before it. Who does not take the answers is not asked for more questions. */
function answerStream(handler: DnsHandler, connection: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  let underway = 0;
  connection.setTimeout(idleMs, () => connection.destroy());
  connection.on('error', () => connection.destroy());
  const send = ({ message }: Reply): void => {
    if (!connection.writable) return;
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(message.length);
    connection.write(Buffer.concat([length, message]));
  };
  const answerAll = (): void => {
    while (underway < mostAtOnce && !connection.writableNeedDrain && rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
      rest = rest.subarray(2 + message.length);
      const reply = handler.reply(message, 'tcp');
      if (reply === undefined) {
        connection.destroy();
        return;
      }
      if (!(reply instanceof Promise)) {
        send(reply);
        continue;
      }
      underway += 1;
      void reply.then((answer) => {
        underway -= 1;
        send(answer);
        answerAll();
      });
    }
    if (underway >= mostAtOnce || connection.writableNeedDrain) connection.pause();
    else connection.resume();
  };
  connection.on('drain', answerAll);
  connection.on('data', (data: Buffer) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    answerAll();
  });
}
