import { createServer } from 'node:net';
import { ownNumber } from './own-part.ts';

/** Below what kernels give to connections and to servers that ask for any port, and below what the product chooses: nobody is given one of these meanwhile. */
const [firstPort, endPort] = [11_000, 20_000];

/** A TCP port of the loopback address that is free now, and that nothing but another test may take before you do. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = ownNumber(firstPort, endPort);
    if (!given.has(port) && (await isFree(host, port))) {
      given.add(port);
      return port;
    }
  }
}
/** By this process: who asks for several gets several. */
const given = new Set<number>();

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
