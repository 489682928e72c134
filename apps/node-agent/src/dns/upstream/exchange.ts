import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { patience } from '../../patience.ts';
import { headerBytes } from '../wire/codes.ts';
import { answersTo, encodeAsked, isTruncated, type Asked } from './message.ts';
import type { Server } from './servers.ts';

/** Asks one server, over TCP when its answer has no room in a datagram. `onSent` is told the id of the query and answers what is to be done when it is over. Rejects when no answer comes in time. */
export async function exchange(server: Server, asked: Asked, timeoutMs: number, onSent: (id: number) => () => void): Promise<Buffer> {
  const id = randomInt(0x10000);
  const forget = onSent(id);
  try {
    const deadline = performance.now() + timeoutMs;
    const reply = await overUdp(server, asked, id, timeoutMs);
    return isTruncated(reply) ? await overTcp(server, asked, id, Math.max(1, deadline - performance.now())) : reply;
  } finally {
    forget();
  }
}

const noAnswer = ({ address, port }: Server, how: string): Error => new Error(`${address} port ${port} did not answer by ${how} in time`);

/** From a socket and a port of its own each time: who has not seen the query cannot guess where the answer must go. The kernel drops what others send. */
function overUdp(server: Server, asked: Asked, id: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    const end = (finish: () => void): void => {
      answered();
      socket.removeAllListeners('message');
      // A failure that comes later is nobody's.
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      finish();
    };
    const answered = patience(timeoutMs, () => end(() => reject(noAnswer(server, 'UDP'))));
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (message) => {
      if (answersTo(message, id, asked.question)) end(() => resolve(message));
    });
    // Who has no way to the server (a link that is down) is told at once, by the callback and not as an event.
    socket.connect(server.port, server.address, (error?: Error) => {
      if (error === undefined || error === null) socket.send(encodeAsked(asked, id));
      else end(() => reject(error));
    });
  });
}

function overTcp(server: Server, asked: Asked, id: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.address, port: server.port });
    const parts: Buffer[] = [];
    const end = (finish: () => void): void => {
      answered();
      socket.destroy();
      finish();
    };
    const answered = patience(timeoutMs, () => end(() => reject(noAnswer(server, 'TCP'))));
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('close', () => end(() => reject(new Error(`${server.address} port ${server.port} closed the connection`))));
    socket.on('connect', () => {
      const message = encodeAsked(asked, id);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on('data', (data: Buffer) => {
      parts.push(data);
      const received = parts.length === 1 ? data : Buffer.concat(parts.splice(0));
      if (parts.length === 0) parts.push(received);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2, 2 + received.readUInt16BE(0));
      if (message.length >= headerBytes && answersTo(message, id, asked.question)) end(() => resolve(message));
      else end(() => reject(new Error(`${server.address} port ${server.port} answered something else by TCP`)));
    });
  });
}
