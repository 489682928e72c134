import type { ClusterNetwork } from '@roundsman/api';
import { tagOf } from '../kernel/links.ts';

/** The rules of a cluster on a machine, beside those of its Services. */
export const tablePrefix = 'roundsman-net-';
export const tableOf = (cluster: string): string => `${tablePrefix}${tagOf(cluster)}`;

const familyOf = { ip: false, ip6: true } as const;

/**
 * nftables: what pods send out of the cluster leaves with the machine's address. Between pods, nodes and machines of the cluster nothing is changed. In one
 * transaction in place of what was there.
 */
export function masqueradeRules(cluster: string, { podCidrs, serviceCidrs, loadBalancerCidrs }: Pick<ClusterNetwork, 'podCidrs' | 'serviceCidrs' | 'loadBalancerCidrs'>, machines: readonly string[]): string {
  const table = `table inet ${tableOf(cluster)}`;
  const sets = (Object.keys(familyOf) as (keyof typeof familyOf)[]).map((family) => {
    const of = (texts: readonly string[]): string[] => texts.filter((text) => text.includes(':') === familyOf[family]);
    return { family, pods: of(podCidrs), services: of([...serviceCidrs, ...loadBalancerCidrs]), inside: [...new Set([...of(podCidrs), ...of(machines)])] };
  });
  const set = (name: string, family: 'ip' | 'ip6', elements: readonly string[]): string =>
    `  set ${name} { type ${family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'}; flags interval; auto-merge; ${elements.length === 0 ? '' : `elements = { ${elements.join(', ')} }; `}}`;
  return [
    `${table} {}`,
    `delete ${table}`,
    `${table} {`,
    // The last is a record only: for clusters that are started later (`claimedRanges`).
    ...sets.flatMap(({ family, pods, inside, services }) => [set(`pods-${family}`, family, pods), set(`inside-${family}`, family, inside), set(`services-${family}`, family, services)]),
    '  chain leaving {',
    '    type nat hook postrouting priority srcnat; policy accept;',
    '    fib daddr type { broadcast, multicast } accept',
    ...sets.map(({ family }) => `    ${family} saddr @pods-${family} ${family} daddr != @inside-${family} masquerade`),
    '  }',
    '}',
  ].join('\n');
}

/** The ranges that `nft -j list table` shows of the pods, or of the Services. */
export function rangesOf(listed: string, of: 'pods' | 'services'): string[] {
  const { nftables } = JSON.parse(listed) as { nftables: readonly { set?: { name: string; elem?: readonly (string | { prefix?: { addr: string; len: number } })[] } }[] };
  return nftables.flatMap(({ set }) =>
    set?.name.startsWith(`${of}-`) === true ? (set.elem ?? []).map((one) => (typeof one === 'string' ? one : `${one.prefix?.addr}/${one.prefix?.len}`)) : [],
  );
}
