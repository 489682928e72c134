import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP port of the loopback address that is free now. Somebody else may take it before you do: retry. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  return port;
}
