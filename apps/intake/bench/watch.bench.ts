// Watches in a process of their own, as a gateway holds them: one feed, many followers. Prints `ready`; a line on standard
// input is the version up to which everything must have been seen; then one line of JSON says what each watch saw.
import { createInterface } from 'node:readline';
import { connectBus } from '@roundsman/bus';
import { ChangeFeed } from '@roundsman/reconcile';
import { openStore } from '@roundsman/store';

const watches = Number(process.argv[2]);
const bus = await connectBus({ servers: process.env['NATS_URL']!, identity: 'watcher' });
const store = openStore(process.env['DATABASE_URL']!);
const feed = new ChangeFeed({ bus, source: store });
await feed.start();
const since = await store.head();
const seen = Array.from({ length: watches }, () => ({ last: since, outOfOrder: 0, relists: 0 }));
const following = seen.map((one) =>
    feed.follow({
      since,
      change: ({ version }) => {
        if (version !== one.last + 1) one.outOfOrder++;
        one.last = version;
      },
      relist: () => void one.relists++,
    }),
);
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const until = Number(line);
  const begun = performance.now();
  while (following.some(({ position }) => position < until) && performance.now() - begun < 10_000) await new Promise((resolve) => setTimeout(resolve, 2));
  const good = seen.filter((one) => one.last === until && one.outOfOrder === 0 && one.relists === 0).length;
  console.log(JSON.stringify({ good, behindMs: performance.now() - begun }));
}
process.exit();
