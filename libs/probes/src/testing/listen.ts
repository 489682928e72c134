import type { Server } from 'node:net';
import { once } from 'node:events';

const open: { close(callback?: () => void): unknown; closeAllConnections?: () => void }[] = [];

/** Starts a server on a free port of 127.0.0.1; `closeAll` ends it. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close: (callback) => {
      server.close(callback);
      for (const socket of sockets) socket.destroy();
    },
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
}
