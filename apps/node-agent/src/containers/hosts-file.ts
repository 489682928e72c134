import type { Pod } from '@roundsman/api';
import { fullName, hostnameOf, shortName } from './sandbox-spec.ts';

const localNames = ['127.0.0.1\tlocalhost', '::1\tlocalhost ip6-localhost ip6-loopback', 'fe00::0\tip6-localnet', 'fe00::0\tip6-mcastprefix', 'fe00::1\tip6-allnodes', 'fe00::2\tip6-allrouters'];

/** The pod's /etc/hosts: its own names and addresses, or on the host's network the machine's file (`machine`); then its hostAliases. `domain` is the cluster's. */
export function hostsFile(pod: Pod, addresses: readonly string[], machine: string, domain: string): string {
  const full = fullName(pod, domain);
  const own = addresses.map((address) => `${address}\t${full === undefined ? hostnameOf(pod, domain) : `${full}\t${shortName(pod)}`}`);
  const base =
    pod.spec.hostNetwork === true ? `# Kubernetes-managed hosts file (host network).\n${machine}` : ['# Kubernetes-managed hosts file.', ...localNames, ...own, ''].join('\n');
  const aliases = (pod.spec.hostAliases ?? []).map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return aliases.length === 0 ? base : `${base}\n# Entries added by HostAliases.\n${aliases.join('')}`;
}
