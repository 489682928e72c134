import { sysctl } from '../kernel/steps.ts';

/**
 * Lets the machine pass packets on. A machine that does takes no IPv6 routes from routers any more, unless it is told that it may (`accept_ra` 2): those that
 * do now go on doing so.
 */
export const letThrough = (podCidrs: readonly string[]): string =>
  [
    sysctl('ipv4/ip_forward', '1'),
    ...(podCidrs.some((range) => range.includes(':'))
      ? ['if [ "$(cat /proc/sys/net/ipv6/conf/all/forwarding 2>/dev/null)" = 0 ]; then for file in /proc/sys/net/ipv6/conf/*/accept_ra; do if [ "$(cat "$file")" = 1 ]; then echo 2 >"$file"; fi; done; fi', sysctl('ipv6/conf/all/forwarding', '1')]
      : []),
  ].join('\n');
