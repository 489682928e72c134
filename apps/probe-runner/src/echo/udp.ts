import type { Socket } from 'node:dgram';
import type { Counters } from './counters.ts';

/** No prober asks from a port below. */
const firstClientPort = 1024;

/**
 * Sends every datagram back as it came and counts it under its `task=<name>` (up to the first blank), if it starts so.
 * Datagrams from our own port number, or from one of a service (below 1024, as before the echo targets of a runtime), are not answered: one forged
 * datagram must not keep two echo targets busy with each other for ever.
 */
export function serveUdpEcho(socket: Socket, counters: Counters): void {
  socket.on('message', (data, from) => {
    const named = data.length > 5 && data.toString('latin1', 0, 5) === 'task=';
    counters.count(named ? (/^task=(\S{0,253})/.exec(data.toString('utf8', 0, 260))?.[1] ?? '') : '', 'udp');
    if (from.port < firstClientPort || from.port === socket.address().port) return;
    socket.send(data, from.port, from.address, () => {
      // Whoever asked is gone: nothing is owed to it.
    });
  });
}
