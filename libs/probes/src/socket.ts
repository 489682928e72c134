import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Pinned } from './resolve.ts';

/**
 * One read buffer for all sockets of the thread: what arrives is consumed before the call returns, so that memory does not
 * grow with connections and no buffer is allocated per read.
 */
const readBuffer = Buffer.allocUnsafeSlow(65_536);

export interface SocketEvents {
  /** TCP is connected; TLS, where there is any, is not. */
  connected(): void;
  /** Bytes may be written. `alpn` is what TLS agreed on. */
  ready(alpn: string | undefined): void;
  /** `buffer[0, length)` is only valid during the call. */
  data(buffer: Buffer, length: number): void;
  /** The server closed its side. */
  ended(): void;
  /** The socket is broken; nothing follows. */
  failed(error: NodeJS.ErrnoException): void;
}

/** Opens a TCP connection, with TLS when options for it are given. Destroying the socket ends all events. */
export function openSocket(to: Pinned, tls: ConnectionOptions | undefined, events: SocketEvents): Socket {
  const options = {
    host: to.address,
    port: to.port,
    noDelay: true,
    autoSelectFamily: false,
    onread: {
      buffer: readBuffer,
      callback: (length: number): boolean => {
        events.data(readBuffer, length);
        return true;
      },
    },
  };
  let socket: Socket;
  if (tls === undefined) {
    socket = connectTcp(options);
    socket.once('connect', () => {
      events.connected();
      events.ready(undefined);
    });
  } else {
    const secured: TLSSocket = connectTls({ ...options, ...tls });
    secured.once('connect', () => events.connected());
    secured.once('secureConnect', () => events.ready(secured.alpnProtocol === false || secured.alpnProtocol === null ? undefined : secured.alpnProtocol));
    socket = secured;
  }
  socket.on('end', () => events.ended());
  socket.on('error', (error) => events.failed(error));
  return socket;
}
