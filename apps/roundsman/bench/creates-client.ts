// Creates pods through a gateway and follows them with watches, over connections that are kept open. Speaks HTTP itself: the client must
// not be what is measured. Arguments: URL, seconds, watches, and `flood <in flight>` or `pace <creates per second>`. Prints one line of JSON.
import { connect, type Socket } from 'node:net';

const [address = '', seconds = '', watches = '', mode = '', amount = ''] = process.argv.slice(2);
const { hostname, port } = new URL(address);
const path = '/api/v1/namespaces/default/pods';
const run = `${mode}${Date.now() % 1e6}`;

/** When each pod was to be created, by its number. */
const intended: number[] = [];
const created: number[] = [];
const seenAfter: number[] = [];
let refused = 0;

const open = (): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket.setNoDelay(true)));
    socket.once('error', reject);
  });

/** A pod as people write it; no scheduler takes it. */
const bodyOf = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'bench', tier: 'a' } },
    spec: {
      schedulerName: 'none',
      containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'], env: [{ name: 'A', value: 'b' }], ports: [{ containerPort: 80 }], resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '32Mi' } } }],
    },
  });

/** One connection: one request at a time. */
class Lane {
  readonly #socket: Socket;
  #rest = Buffer.alloc(0);
  #answered: ((status: number) => void) | undefined;
  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data) => this.#take(data));
  }
  create(number: number): Promise<number> {
    const body = bodyOf(`${run}-${number}`);
    this.#socket.write(`POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nuser-agent: bench/1\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return new Promise((resolve) => (this.#answered = resolve));
  }
  #take(data: Buffer): void {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#rest.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (this.#rest.length < end + 4 + length) return;
    this.#rest = this.#rest.subarray(end + 4 + length);
    this.#answered?.(Number(head.slice(9, 12)));
  }
}

const begin = '{"type":"ADDED"';

/** Counts events; the first watch tells how late they are. */
class Watch {
  seen = 0;
  readonly #timed: boolean;
  #rest = '';
  constructor(socket: Socket, since: string, timed: boolean) {
    this.#timed = timed;
    socket.write(`GET ${path}?watch=true&resourceVersion=${since} HTTP/1.1\r\nhost: ${hostname}\r\naccept: application/json\r\n\r\n`);
    socket.on('data', (data) => this.#take(data));
  }
  #take(data: Buffer): void {
    if (!this.#timed) {
      // Every line of an event begins like this, and nothing within one does; what is cut by the end of a packet is put together.
      const text = this.#rest + data.toString('latin1');
      for (let at = text.indexOf(begin); at >= 0; at = text.indexOf(begin, at + begin.length)) this.seen++;
      this.#rest = text.endsWith(begin) ? '' : text.slice(1 - begin.length);
      return;
    }
    const now = performance.now();
    const text = this.#rest + data.toString('latin1');
    const pattern = /\{"type":"ADDED","object":\{.*?"name":"([a-z]+\d+)-(\d+)"/g;
    let last = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      last = pattern.lastIndex;
      if (match[1] !== run) continue;
      this.seen++;
      seenAfter.push(now - intended[Number(match[2])]!);
    }
    this.#rest = text.slice(Math.max(last, text.length - 4096));
  }
}

async function one(lane: Lane, number: number): Promise<void> {
  const status = await lane.create(number);
  if (status === 201) created.push(performance.now() - intended[number]!);
  else refused++;
}

/** As many as go, each lane one after the other. */
async function flood(lanes: readonly Lane[], untilMs: number): Promise<void> {
  await Promise.all(
    lanes.map(async (lane) => {
      while (performance.now() < untilMs) {
        intended.push(performance.now());
        await one(lane, intended.length - 1);
      }
    }),
  );
}

/** So many a second, whether or not the ones before are answered; late ones count from when they were due. */
async function pace(lanes: Lane[], perSecond: number, untilMs: number): Promise<void> {
  const begun = performance.now();
  const free = [...lanes];
  const running = new Set<Promise<void>>();
  while (performance.now() < untilMs) {
    const due = Math.floor(((performance.now() - begun) * perSecond) / 1000);
    while (intended.length < due && free.length > 0) {
      const lane = free.pop()!;
      intended.push(begun + (intended.length * 1000) / perSecond);
      const work = one(lane, intended.length - 1).then(() => {
        free.push(lane);
        running.delete(work);
      });
      running.add(work);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(running);
}

const { metadata } = (await (await fetch(`${address}${path}?limit=1`)).json()) as { metadata: { resourceVersion: string } };
const followers = await Promise.all(Array.from({ length: Number(watches) }, async (_, index) => new Watch(await open(), metadata.resourceVersion, index === 0)));
const lanes = await Promise.all(Array.from({ length: mode === 'flood' ? Number(amount) : 64 }, async () => new Lane(await open())));
await new Promise((resolve) => setTimeout(resolve, 500));
const begun = performance.now();
const until = begun + Number(seconds) * 1000;
await (mode === 'flood' ? flood(lanes, until) : pace(lanes, Number(amount), until));
const took = (performance.now() - begun) / 1000;
const patience = performance.now() + 10_000;
while (followers.some(({ seen }) => seen < created.length) && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 5));
const at = (values: number[], share: number): number => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
console.log(
  JSON.stringify({
    perSecond: created.length / took,
    created: created.length,
    refused,
    p50Ms: at(created, 0.5),
    p99Ms: at(created, 0.99),
    whole: followers.filter(({ seen }) => seen === created.length).length,
    eventP50Ms: at(seenAfter, 0.5),
    eventP99Ms: at(seenAfter, 0.99),
  }),
);
process.exit();
