import type { Duplex } from 'node:stream';
import { badRequest } from '@roundsman/api';
import { createWebSocketStream, WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { UpgradeRequest } from '../http/upgrade.ts';
import { costOf, waitingBytes, type Client, type Ending, type FromClient } from './client.ts';
import { Queue } from './queue.ts';

/** kubectl's; the older one has no way to end stdin. */
export const channelProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;
export const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';

const stdinChannel = 0;
const errorChannel = 3;
const sizeChannel = 4;
const closeChannel = 255;
/** Longest message that is read. */
const maxMessageBytes = 8 << 20;
/** A client that is gone is noticed by writing, also while nothing is read from it. */
const pingMs = 15_000;

const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });

/** The first of `known` that the client offers; 400 when there is none. */
export function chosenProtocol<const T extends string>(offered: string | undefined, known: readonly T[]): T {
  const offers = (offered ?? '').split(',').map((one) => one.trim());
  const chosen = known.find((one) => offers.includes(one));
  if (chosen === undefined) throw badRequest(`unable to upgrade: none of the protocols asked for (${offers.join(', ') || 'none'}) is spoken here: ${known.join(', ')}`);
  return chosen;
}

/** Completes the handshake with this subprotocol. Throws a 400 when it is none. */
function accept({ request, socket, head }: UpgradeRequest, protocol: string): WebSocket {
  // Checked before; ws itself refuses names that hold a slash.
  delete request.headers['sec-websocket-protocol'];
  const name = (lines: string[]): void => void lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  let accepted: WebSocket | undefined;
  // All of it happens at once: no other handshake sees this listener.
  server.once('headers', name);
  server.handleUpgrade(request, socket, head, (webSocket) => (accepted = webSocket));
  server.off('headers', name);
  if (accepted === undefined) throw badRequest('the WebSocket handshake is not valid');
  const webSocket: WebSocket = accepted;
  const pings = setInterval(() => webSocket.ping(), pingMs);
  webSocket.once('close', () => clearInterval(pings)).on('error', () => undefined);
  return webSocket;
}

/** A byte stream in binary messages, for what is tunnelled. */
export function acceptTunnel(upgrade: UpgradeRequest): Duplex {
  return createWebSocketStream(accept(upgrade, tunnelProtocol));
}

/** One message for each write of a channel, whose number is the first byte. */
export function acceptChannels(upgrade: UpgradeRequest, protocol: (typeof channelProtocols)[number]): Client {
  return new WebSocketClient(accept(upgrade, protocol), protocol === 'v5.channel.k8s.io');
}

class WebSocketClient implements Client {
  readonly incoming: Queue<FromClient> = new Queue<FromClient>(waitingBytes, costOf);
  readonly #socket: WebSocket;

  constructor(socket: WebSocket, canEndStdin: boolean) {
    this.#socket = socket;
    socket.on('message', (data) => {
      const item = itemOf(bytesOf(data), canEndStdin);
      if (item === undefined) return;
      this.incoming.push(item);
      if (!this.incoming.full || socket.isPaused) return;
      socket.pause();
      void this.incoming.room().then(() => socket.resume());
    });
    socket.once('close', () => this.incoming.end());
  }

  write(channel: 1 | 2, bytes: Uint8Array): Promise<void> {
    return this.#send(channel, bytes);
  }

  async finish(ending: Ending): Promise<void> {
    await this.#send(errorChannel, Buffer.from(JSON.stringify(ending))).catch(() => undefined);
    // What still comes is of no use, but its answer to the close is waited for.
    this.incoming.drop();
    this.#socket.resume();
    this.#socket.close(1000);
  }

  destroy(): void {
    this.#socket.terminate();
    this.incoming.drop();
  }

  #send(channel: number, bytes: Uint8Array): Promise<void> {
    const message = Buffer.allocUnsafe(1 + bytes.length);
    message[0] = channel;
    message.set(bytes, 1);
    return new Promise((resolve, reject) => this.#socket.send(message, (error) => (error ? reject(error) : resolve())));
  }
}

function itemOf(message: Buffer, canEndStdin: boolean): FromClient | undefined {
  const bytes = message.subarray(1);
  if (message[0] === stdinChannel) return { stdin: bytes };
  if (message[0] === sizeChannel) return { sizes: bytes };
  if (message[0] === closeChannel && canEndStdin && bytes[0] === stdinChannel) return { stdin: 'end' };
  return undefined;
}

const bytesOf = (data: RawData): Buffer => (Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data));
