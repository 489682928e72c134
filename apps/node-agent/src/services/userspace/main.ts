import { createHash } from 'node:crypto';
import { readlinkSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { protocol, type Order, type Report } from './control.ts';
import { TableServer, type Untaken } from './table-server.ts';

/**
 * The forwarder in user space: a process in a node's network namespace that goes on when the agent ends. Its only argument is the path of the socket on which agents tell
 * it what to serve.
 */
const [, , path] = process.argv;
if (path === undefined) throw new Error('the path of the control socket is missing');

const server = new TableServer();
let served = '';
let untaken: readonly Untaken[] = [];
let madeLocal: readonly string[] = [];
let last: Promise<unknown> = Promise.resolve();

const report = (): Report => ({ protocol, pid: process.pid, namespace: readlinkSync('/proc/self/ns/net'), served, hostPorts: server.hostPorts, untaken, madeLocal });

async function obey(order: Order): Promise<Report> {
  if (order.do === 'serve') {
    untaken = await server.serve(order.table, order.hostPorts);
    madeLocal = [...new Set([...madeLocal, ...order.madeLocal])];
    served = createHash('sha256').update(JSON.stringify([order.table, order.hostPorts])).digest('hex');
  }
  const answer = report();
  // Before that is told: who hears it may start another one, whose places and whose socket these then are.
  if (order.do === 'end') giveUp();
  return answer;
}

function giveUp(): void {
  server.close();
  rmSync(path ?? '', { force: true });
}

const control = createServer((socket: Socket) => {
  socket.on('error', () => socket.destroy());
  createInterface({ input: socket }).on('error', () => socket.destroy()).once('line', (line) => {
    const order = JSON.parse(line) as Order;
    last = last
      .then(() => obey(order))
      .then((answer) => socket.end(`${JSON.stringify(answer)}\n`, () => order.do === 'end' && process.exit(0)))
      .catch((error: unknown) => socket.destroy(error as Error));
  });
});
// Whoever may write to the socket says what is forwarded.
process.umask(0o177);
rmSync(path, { force: true });
control.listen(path);
// Whoever started it may close its terminal.
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', () => {
  giveUp();
  process.exit(0);
});
