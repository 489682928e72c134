import { wiringLacks } from '../choice.ts';
import { here, runSteps } from '../kernel/steps.ts';
import { rangesOf, tableOf, tablePrefix } from './masquerade.ts';

/** Addresses of pods and Services of the other clusters on this machine, as the kernel knows them. Where this process may not ask, no cluster has any there. */
export async function claimedRanges(cluster: string): Promise<string[]> {
  if (wiringLacks() !== undefined) return [];
  const names = (await runSteps([{ in: here, script: `nft list tables inet 2>/dev/null | sed -n 's/^table inet //p'` }])).split('\n').filter((name) => name.startsWith(tablePrefix) && name !== tableOf(cluster));
  const listed = await Promise.all(names.map((name) => runSteps([{ in: here, script: `nft -j list table inet ${name}` }])));
  return listed.flatMap((text) => [...rangesOf(text, 'pods'), ...rangesOf(text, 'services')]);
}
