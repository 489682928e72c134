import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { UserError } from './user-error.ts';

/** Listens for a moment: the port it got, or undefined when somebody has it. */
function probe(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(undefined) : reject(error)));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const { port: got } = server.address() as AddressInfo;
      server.close(() => resolve(got));
    });
  });
}

export const isFree = async (port: number): Promise<boolean> => (await probe(port)) !== undefined;

export interface PortWish {
  /** `gateway`: how messages call it. */
  readonly name: string;
  /** Set by the person: taken means an error. */
  readonly set?: number | undefined;
  /** Of the last time: used again when it is free. */
  readonly remembered?: number | undefined;
}

/** One free loopback port per wish, all different. */
export async function choosePorts(wishes: readonly PortWish[]): Promise<Record<string, number>> {
  const chosen: Record<string, number> = {};
  const taken = new Set(wishes.map(({ set }) => set).filter((port) => port !== undefined));
  for (const { name, set, remembered } of wishes) {
    if (set !== undefined) {
      if (!(await isFree(set))) throw new UserError(`port ${set} (${name}) is taken`, `Leave the port out to have a free one chosen, or see who has it: ss -ltnp 'sport = :${set}'`);
      chosen[name] = set;
      continue;
    }
    let port = remembered !== undefined && !taken.has(remembered) ? await probe(remembered) : undefined;
    while (port === undefined || taken.has(port)) port = await probe(0);
    taken.add(port);
    chosen[name] = port;
  }
  return chosen;
}
