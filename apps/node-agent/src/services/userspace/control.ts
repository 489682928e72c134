import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import type { ForwardingTable } from '../forwarding/table.ts';
import type { PublishedPort } from '../host-ports.ts';
import type { Untaken } from './table-server.ts';

/** One line of JSON each way per connection to the forwarder's socket. */
export type Order = { readonly do: 'look' } | { readonly do: 'serve'; readonly table: ForwardingTable; readonly hostPorts: readonly PublishedPort[]; readonly madeLocal: readonly string[] } | { readonly do: 'end' };

export interface Report {
  /** What this program understands: an agent of another version puts its own in place. */
  readonly protocol: number;
  readonly pid: number;
  /** Of the network namespace, as readlink has it: `net:[4026531840]`. */
  readonly namespace: string;
  /** Hash of the table that is served; empty before the first. */
  readonly served: string;
  readonly hostPorts: readonly PublishedPort[];
  readonly untaken: readonly Untaken[];
  /** Ranges whose addresses an agent has made local for it. */
  readonly madeLocal: readonly string[];
}

export const protocol = 1;
const answerWithinMs = 10_000;

/** Somebody listens there, and is busy. */
export class NoAnswerYet extends Error {
  override readonly name = 'NoAnswerYet';
}

/** Rejects when nobody listens there. */
export function ask(path: string, order: Order): Promise<Report> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.setTimeout(answerWithinMs, () => socket.destroy(new NoAnswerYet(`the forwarder did not answer within ${answerWithinMs / 1_000} s`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the forwarder gave no answer')));
    // It tells errors of its input again.
    createInterface({ input: socket })
      .on('error', reject)
      .once('line', (line) => {
        resolve(JSON.parse(line) as Report);
        socket.end();
      });
    socket.write(`${JSON.stringify(order)}\n`);
  });
}
