import { readFile } from 'node:fs/promises';
import { parseCidr } from '@roundsman/api';

/** Destinations (`10.244.1.0/24`, `10.244.1.1/32`) that the agent's namespace has routes to; read from the kernel without starting a program. */
export async function routedRanges(): Promise<ReadonlySet<string>> {
  const [v4, v6] = await Promise.all(['route', 'ipv6_route'].map((name) => readFile(`/proc/self/net/${name}`, 'utf8').catch(() => '')));
  return new Set([...routes4(v4 ?? ''), ...routes6(v6 ?? '')]);
}

/** Every node of a process asks every two seconds, and routes seldom change: the same text is not parsed again. */
function unlessTheSame(parse: (text: string) => string[]): (text: string) => readonly string[] {
  let last: { readonly text: string; readonly routes: readonly string[] } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, routes: parse(text) };
    return last.routes;
  };
}

const routes4 = unlessTheSame(parseRoutes);
const routes6 = unlessTheSame(parseRoutes6);

/** /proc/net/route: addresses and masks as hexadecimal numbers in the machine's byte order, which is little-endian wherever this runs. */
export function parseRoutes(text: string): string[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device, destination, , , , , , mask] = line.split(/\s+/);
      if (device === undefined || destination === undefined || mask === undefined || mask.length !== 8) return [];
      const ones = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
      const bytes = [6, 4, 2, 0].map((at) => Number.parseInt(destination.slice(at, at + 2), 16));
      return [`${bytes.join('.')}/${ones}`];
    });
}

/** /proc/net/ipv6_route: 32 digits and the length of the prefix. */
export function parseRoutes6(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [destination, prefix] = line.split(/\s+/);
    if (destination?.length !== 32 || prefix === undefined) return [];
    return [parseCidr(`${destination.match(/.{4}/g)?.join(':')}/${Number.parseInt(prefix, 16)}`).text];
  });
}
