import { run as dns } from './dns.ts';
import { main, type Figure } from './figure.ts';
import { run as http } from './http.ts';
import { run as paced } from './paced.ts';

/** All figures of the probe engines. Needs a build, go, taskset, and the peers hey, wrk and dnsperf. */
export async function run(): Promise<Figure[]> {
  return [...(await http()), ...(await dns()), ...(await paced())];
}

if (import.meta.main) await main(run);
