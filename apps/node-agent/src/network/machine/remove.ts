import { closeForwarding } from './forward-rules.ts';
import { ownedLinks, routeProtocol } from '../kernel/links.ts';
import { here, ipAnyhow, runSteps } from '../kernel/steps.ts';
import { rangesOf, tableOf } from './masquerade.ts';
import { isOwnRoute, listedRoutes } from './own-routes.ts';

/**
 * Takes all that a cluster's network has left in the namespace of this process away: links, routes, rules. For when the cluster, or this machine in it, is gone for
 * good; agents that only start again must not lose it. Also when there is nothing. (Forwarding stays on: others may rely on it by now.)
 */
export async function removeMachineNetwork(cluster: string): Promise<void> {
  const table = tableOf(cluster);
  // The kernel's own record of which addresses are the cluster's.
  const listed = await runSteps([{ in: here, script: `nft -j list table inet ${table} 2>/dev/null || :` }]);
  const ranges = listed.trim() === '' ? [] : rangesOf(listed, 'pods');
  const links = (await ownedLinks(here)).filter((link) => link.cluster === cluster);
  const routes = (await listedRoutes()).filter((route) => isOwnRoute(route, ranges));
  await runSteps([
    {
      in: here,
      script: [
        ipAnyhow(
          ...links.map(({ name }) => `link del ${name}`),
          ...routes.map(({ range, type }) => `route del ${type === 'unicast' ? '' : `${type} `}${range} proto ${routeProtocol}`),
          ...(await ownAddresses(ranges)).map((address) => `addr del ${address} dev lo`),
        ),
        `nft delete table inet ${table} 2>/dev/null || :`,
        closeForwarding(cluster),
      ].join('\n'),
    },
  ]);
}

interface Listed {
  readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number }[];
}

/** Addresses of nodes that the machine itself has. */
async function ownAddresses(ranges: readonly string[]): Promise<string[]> {
  const links = JSON.parse((await runSteps([{ in: here, script: 'ip -j addr show dev lo' }])) || '[]') as Listed[];
  return links
    .flatMap(({ addr_info = [] }) => addr_info.map(({ local = '', prefixlen = 0 }) => `${local}/${prefixlen}`))
    .filter((address) => isOwnRoute({ range: address, device: '', type: '', isWayElsewhere: false }, ranges));
}
