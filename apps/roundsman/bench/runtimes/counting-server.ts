// A target that tasks ask by HTTP: counts requests by the name in `?task=`, with the time of the first and the last. Prints its port; `/counted` tells. Ends with its parent.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Times in milliseconds since the epoch, with fractions. */
export interface Counted {
  count: number;
  firstMs: number;
  lastMs: number;
}

const counted = new Map<string, Counted>();
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://target');
  if (pathname === '/counted') {
    response.end(JSON.stringify(Object.fromEntries(counted)));
    return;
  }
  const nowMs = performance.timeOrigin + performance.now();
  const task = searchParams.get('task') ?? '';
  const before = counted.get(task);
  if (before === undefined) counted.set(task, { count: 1, firstMs: nowMs, lastMs: nowMs });
  else {
    before.count += 1;
    before.lastMs = nowMs;
  }
  response.end('counted\n');
});
server.listen(0, process.argv[2], () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().once('end', () => process.exit());
