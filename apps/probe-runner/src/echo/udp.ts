import type { Socket } from 'node:dgram';
import type { Counters } from './counters.ts';

/**
 * Sends every datagram back as it came and counts it under its `task=<name>` (up to the first blank), if it starts so.
 * Datagrams from our own port number are not answered: two echo targets must not keep each other busy.
 */
export function serveUdpEcho(socket: Socket, counters: Counters): void {
  socket.on('message', (data, from) => {
    const named = data.length > 5 && data.toString('latin1', 0, 5) === 'task=';
    counters.count(named ? (/^task=(\S{0,253})/.exec(data.toString('utf8', 0, 260))?.[1] ?? '') : '', 'udp');
    if (from.port === socket.address().port) return;
    socket.send(data, from.port, from.address, () => {
      // Whoever asked is gone: nothing is owed to it.
    });
  });
}
