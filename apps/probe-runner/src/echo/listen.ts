import { createSocket, type Socket as Datagram } from 'node:dgram';
import { createServer, isIPv6, type AddressInfo, type Server, type Socket } from 'node:net';
import { isUnspecified, ownAddresses, withFamily } from './addresses.ts';

/** What takes connections and datagrams of a port; absent: the port has none of them. */
export interface Accept {
  readonly tcp?: (socket: Socket) => void;
  readonly udp?: (socket: Datagram) => void;
}

/** With many addresses on a machine datagrams to the others are answered from the address that the kernel picks. */
const mostOwn = 64;

/** Opens one port number on every address; 0: one that is free on all of them, or a rejection with EADDRINUSE that another try may not meet. */
export async function listenOn(addresses: readonly string[], wanted: number, accept: Accept): Promise<{ port: number; opened: (Server | Datagram)[] }> {
  const opened: (Server | Datagram)[] = [];
  let port = wanted;
  try {
    for (const address of addresses) {
      if (accept.tcp !== undefined) {
        const server = await listenTcp(address, port, accept.tcp);
        opened.push(server);
        port = (server.address() as AddressInfo).port;
      }
      if (accept.udp !== undefined) {
        const sockets = isUnspecified(address) ? await bindEveryUdp(address, port) : [await bindUdp(address, port)];
        opened.push(...sockets);
        port = sockets[0]!.address().port;
        sockets.forEach(accept.udp);
      }
    }
    return { port, opened };
  } catch (error) {
    for (const server of opened) server.close();
    throw error;
  }
}

function listenTcp(address: string, port: number, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, accept);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port, ipv6Only: true, backlog: 1024 }, () => resolve(server));
  });
}

/**
 * A socket that is bound to no address answers from the one that the kernel picks, which need not be the one that was asked, and the asker drops that. So each
 * address of the machine has a socket of its own besides; those that come later are answered by the first.
 */
async function bindEveryUdp(unspecified: string, wanted: number): Promise<Datagram[]> {
  // Shared sockets would hide that somebody else has the port.
  const alone = await bindUdp(unspecified, wanted);
  const { port } = alone.address();
  await new Promise<void>((resolve) => alone.close(resolve));
  const sockets = [await bindUdp(unspecified, port, true)];
  const { family } = withFamily(unspecified);
  for (const own of ownAddresses().filter((one) => one.family === family).slice(0, mostOwn)) {
    try {
      sockets.push(await bindUdp(own.address, port, true));
    } catch (error) {
      // It is being taken away, or not in use yet (IPv6): the first socket answers.
      if ((error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL') continue;
      for (const socket of sockets) socket.close();
      throw error;
    }
  }
  return sockets;
}

function bindUdp(address: string, port: number, shared = false): Promise<Datagram> {
  const socket = createSocket({ ...(isIPv6(address) ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' }), recvBufferSize: 4 << 20, reuseAddr: shared });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, address, () => {
      socket.off('error', reject);
      // Errors of datagrams already sent (nobody listens there any more) come back here; they concern nobody.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}
