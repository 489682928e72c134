import { connect, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { ForwardedEndpoint } from '../forwarding/table.ts';
import { plainAddress } from './client-rules.ts';
import type { Listening, Place } from './listening.ts';

const connectWithinMs = 5_000;
const backlog = 1_024;

/** Every connection to a place goes on to one endpoint; another one is tried when it cannot be reached. */
export function listenTcp({ address, port, side, target }: Place): Listening {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
    client.on('error', () => client.destroy());
    const from = plainAddress(client.remoteAddress ?? '');
    const attempt = (tried: readonly ForwardedEndpoint[]): void => {
      const endpoint = client.destroyed ? undefined : target.choose(from, side, tried);
      if (endpoint === undefined) client.resetAndDestroy();
      else dial(client, endpoint, () => attempt([...tried, endpoint]));
    };
    attempt([]);
  });
  return { bound: listening(server, address, port), retarget: () => undefined, close: () => void server.close() };
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port, backlog, ipv6Only: isIPv6(host) });
  await once(server, 'listening');
  // Such as too many open files: this connection is lost, the next ones are not.
  server.on('error', () => undefined);
}

function dial(client: Socket, { address, port }: ForwardedEndpoint, failed: () => void): void {
  const upstream = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  const timer = setTimeout(() => upstream.destroy(new Error('no answer')), connectWithinMs);
  const abandoned = (): void => void upstream.destroy();
  client.once('close', abandoned);
  upstream.once('error', () => {
    clearTimeout(timer);
    client.off('close', abandoned);
    if (!client.destroyed) failed();
  });
  upstream.once('connect', () => {
    clearTimeout(timer);
    upstream.removeAllListeners('error');
    client.off('close', abandoned);
    join(client, upstream);
    join(upstream, client);
  });
}

/** Bytes one way, as fast as the other side takes them; its end is told, its breaking off too. */
function join(from: Socket, to: Socket): void {
  from.on('data', (chunk) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => to.end());
  from.on('error', () => to.resetAndDestroy());
  from.on('close', () => {
    if (!from.readableEnded) to.destroy();
  });
  from.resume();
}
