import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { ForwardedEndpoint } from '../forwarding/table.ts';
import { plainAddress } from './client-rules.ts';
import type { Listening, Place } from './listening.ts';

/** A flow ends this long after its last datagram; conntrack has as much for flows that are answered. */
const idleMs = 120_000;
const mostFlows = 4_096;

interface Flow {
  readonly endpoint: ForwardedEndpoint;
  readonly upstream: Socket;
  lastMs: number;
}

/** All datagrams of one socket of a client go to one endpoint as long as it serves; answers come from the place. */
export function listenUdp({ address, port, side, target }: Place): Listening {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  const socket = createSocket({ type, ipv6Only: type === 'udp6' });
  const flows = new Map<string, Flow>();
  let sweeping: NodeJS.Timeout | undefined;

  const end = (key: string, flow: Flow): void => {
    if (flows.get(key) === flow) flows.delete(key);
    flow.upstream.close();
  };
  const sweep = (): void => {
    for (const [key, flow] of flows) if (Date.now() - flow.lastMs > idleMs) end(key, flow);
    sweeping = flows.size === 0 ? undefined : setTimeout(sweep, idleMs / 4).unref();
  };
  const open = (key: string, client: string, clientPort: number): Flow | undefined => {
    const endpoint = flows.size < mostFlows ? target.choose(plainAddress(client), side) : undefined;
    if (endpoint === undefined) return undefined;
    const upstream = createSocket(isIPv6(endpoint.address) ? 'udp6' : 'udp4');
    const flow: Flow = { endpoint, upstream, lastMs: Date.now() };
    let closed = false;
    upstream.on('close', () => (closed = true));
    upstream.on('message', (message) => {
      flow.lastMs = Date.now();
      socket.send(message, clientPort, client);
    });
    // Nobody listens there: the client tries again, perhaps with another endpoint.
    upstream.on('error', () => closed || end(key, flow));
    flows.set(key, flow);
    sweeping ??= setTimeout(sweep, idleMs / 4).unref();
    return flow;
  };
  socket.on('message', (message, { address: client, port: clientPort }) => {
    const key = `${client} ${clientPort}`;
    const flow = flows.get(key) ?? open(key, client, clientPort);
    if (flow === undefined) return;
    flow.lastMs = Date.now();
    flow.upstream.send(message, flow.endpoint.port, flow.endpoint.address, () => undefined);
  });
  const bound = (async () => {
    socket.bind({ address, port });
    await once(socket, 'listening');
    socket.on('error', () => undefined);
  })();
  return {
    bound,
    retarget: () => {
      for (const [key, flow] of flows) if (!target.serves(flow.endpoint)) end(key, flow);
    },
    close: () => {
      clearTimeout(sweeping);
      for (const [key, flow] of flows) end(key, flow);
      socket.close();
    },
  };
}
