import { once } from 'node:events';
import { join } from 'node:path';
import type { ProbeTarget } from '@roundsman/api';
import { bounded, main, type Figure } from './figure.ts';
import { installed, load, startPeer, type Peer } from './process.ts';

const perSecond = 2000;
const seconds = 5;

interface Paced {
  planned: number;
  sent: number;
  succeeded: number;
  lagP99Us: number;
  /** CPU time divided by wall time. */
  share: number;
}

/** At this rate the pacer polls all the time: what its core did not give it, other processes took, and the row says nothing:
 * one percent of the time is what a p99 is about. */
const leastShare = 0.99;

/** 2,000 requests a second, open loop: are they exactly that many, and how late does each leave? */
export async function run(): Promise<Figure[]> {
  for (const need of ['taskset', 'go']) if (!installed(need)) throw new Error(`the pacing benchmark needs ${need}`);
  const lags: number[] = [];
  const off: number[] = [];
  for (let turn = 0; turn < 12 && lags.length < 3; turn++) {
    const server = await startPeer('raw');
    const target: ProbeTarget = { id: 'url', layer: 'url', probe: 'http', url: `http://127.0.0.1:${server.port}/`, method: 'GET', headers: [], http2: false, hasBody: false, hasTls: false };
    const { stdout } = await load(process.execPath, [join(import.meta.dirname, 'paced-client.ts'), JSON.stringify({ target, perSecond, seconds })]);
    const paced = JSON.parse(stdout) as Paced;
    const received = await answered(server);
    server.stop();
    const budget = perSecond * seconds;
    if (paced.share >= leastShare) lags.push(paced.lagP99Us / 1000);
    else console.error(`paced: p99 ${paced.lagP99Us / 1000} ms dropped, it got ${Math.round(paced.share * 100)} % of its core`);
    off.push(Math.max(...[paced.planned, paced.sent, paced.succeeded, received].map((n) => Math.abs(n - budget))));
  }
  return [bounded(`paced ${perSecond}/s: actual minus intended send time, p99`, 'ms', lags, 'bound', 1), bounded(`paced ${perSecond}/s: requests more or fewer than rate x duration, at client and server`, 'requests', off, 'bound', 0)];
}

/** Requests the server answered. */
async function answered(server: Peer): Promise<number> {
  server.child.kill('SIGUSR1');
  const [line] = (await once(server.child.stdout!, 'data')) as [Buffer];
  return Number(/count (\d+)/.exec(line.toString())?.[1]);
}

if (import.meta.main) await main(run);
