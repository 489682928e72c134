import { removeAnnounced } from './load-balancer/announced-addresses.ts';
import { nft, NftProblem } from './nftables/nft.ts';
import { tableOf } from './nftables/nftables-proxy.ts';
import { removal } from './nftables/ruleset.ts';
import { machineNamespace } from './network-namespace.ts';
import { proxyNames } from './node-forwarding.ts';
import { UserspaceProxy } from './userspace/userspace-proxy.ts';

/**
 * Takes away what forwarding Services has left on this machine, when the cluster, or the machine's part in it, is gone for good: rules, load balancer addresses, forwarders in user
 * space. (What is in a node's own namespace goes with that.) `folders`: the data folders of its agents. Also when there is nothing; where this process may not, it has made nothing.
 */
export async function removeForwarding(cluster: string, folders: readonly string[]): Promise<void> {
  const quiet = { info: () => undefined, warn: () => undefined };
  for (const folder of folders) {
    for (const name of proxyNames) await new UserspaceProxy({ namespace: machineNamespace, folder, name, log: quiet }).remove();
  }
  try {
    await nft(machineNamespace, ['-f', '-'], removal(tableOf(cluster)));
  } catch (error) {
    // Then there are no rules of its making; addresses it may have all the same.
    if (!(error instanceof NftProblem) || !['missing', 'forbidden'].includes(error.kind)) throw error;
  }
  await removeAnnounced(cluster, machineNamespace).catch((error: NodeJS.ErrnoException) => {
    // A machine without `ip` got none.
    if (error.code !== 'ENOENT') throw error;
  });
}
