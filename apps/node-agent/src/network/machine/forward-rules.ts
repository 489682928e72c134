import { tagOf } from '../kernel/links.ts';

const commentOf = (cluster: string): string => `roundsman-${tagOf(cluster)}`;
const programFor = (range: string): string => (range.includes(':') ? 'ip6tables' : 'iptables');

/** A Docker daemon of this machine may have closed forwarding for all but its own (policy DROP): the pods' packets are let through. Where it is open nothing is done. */
export const openForwarding = (cluster: string, podCidrs: readonly string[]): string =>
  podCidrs
    .flatMap((range) =>
      ['-s', '-d'].map((side) => {
        const program = programFor(range);
        const rule = `FORWARD ${side} ${range} -m comment --comment ${commentOf(cluster)} -j ACCEPT`;
        return `if command -v ${program} >/dev/null && ${program} -w -S FORWARD 2>/dev/null | grep -q -e '-P FORWARD DROP'; then ${program} -w -C ${rule} 2>/dev/null || ${program} -w -I ${rule}; fi`;
      }),
    )
    .join('\n');

export const closeForwarding = (cluster: string): string =>
  ['iptables', 'ip6tables']
    .map((program) => `if command -v ${program} >/dev/null; then ${program} -w -S FORWARD 2>/dev/null | grep -e '--comment ${commentOf(cluster)} ' | sed 's/^-A/-D/' | while read -r rule; do ${program} -w $rule || :; done; fi`)
    .join('\n');
