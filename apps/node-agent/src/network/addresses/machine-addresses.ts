import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { here, runSteps } from '../kernel/steps.ts';
import { isLoopback } from './loopback.ts';

/** Nobody's address on the internet, of each family: what the way there starts from is the machine's address. Nothing is sent. */
const elsewhere = { udp4: '192.0.2.1', udp6: '2001:db8::1' } as const;

/** By which others reach this machine, IPv4 first: those that were set unless they are only for itself, else what its default routes start from. */
export async function machineAddresses(set: readonly string[]): Promise<string[]> {
  const given = set.filter((address) => !isLoopback(address));
  if (given.length > 0) return given.toSorted((a, b) => Number(isIPv4(b)) - Number(isIPv4(a)));
  const found = await Promise.all((['udp4', 'udp6'] as const).map(sourceOf));
  return found.filter((address) => address !== undefined);
}

async function sourceOf(type: 'udp4' | 'udp6'): Promise<string | undefined> {
  const socket = createSocket(type);
  try {
    socket.connect(9, elsewhere[type]);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    // No route: this family leads nowhere.
    return undefined;
  } finally {
    socket.close();
  }
}

const usualMtu = 1500;

interface Listed {
  readonly ifname: string;
  readonly mtu: number;
  readonly addr_info?: readonly { readonly local?: string }[];
}

/** Largest packet on the link that has this address, bytes. */
export async function mtuOf(address: string | undefined): Promise<number> {
  if (address === undefined) return usualMtu;
  const links = JSON.parse(await runSteps([{ in: here, script: 'ip -j addr show' }])) as Listed[];
  return links.find(({ addr_info = [] }) => addr_info.some(({ local }) => local === address))?.mtu ?? usualMtu;
}
