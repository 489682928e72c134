import { indexIn, parseCidr, type ClusterNetwork, type KubeObject, type Node, type Service } from '@roundsman/api';
import { SettingsError } from '@roundsman/service';
import { portsOf } from '../addresses/book.ts';
import { podCidrProblem } from '../addresses/pod-cidrs.ts';
import { environment } from './settings.ts';

/** Throws a SettingsError when something was given an address or port already that is not in the ranges now: it would never be reached. */
export function checkGivenOut(network: ClusterNetwork, objects: { readonly services: readonly KubeObject[]; readonly nodes: readonly KubeObject[] }): void {
  const problem = serviceProblem(network, objects.services as readonly Service[]) ?? nodeProblem(network, objects.nodes as readonly Node[]);
  if (problem !== undefined) throw new SettingsError([problem]);
}

function serviceProblem({ serviceCidrs, nodePorts }: ClusterNetwork, services: readonly Service[]): string | undefined {
  const ranges = serviceCidrs.map(parseCidr);
  for (const { metadata, spec } of services) {
    const name = `Service ${metadata.namespace}/${metadata.name}`;
    const outside = (spec.clusterIPs ?? []).find((address) => address !== 'None' && !ranges.some((range) => indexIn(range, address) !== undefined));
    if (outside !== undefined) return `${environment('serviceCidrs')}: ${name} has the address ${outside}, which is not in ${serviceCidrs.join(' or ')}: keep a range that holds it, or delete the Service first`;
    const port = portsOf(spec).find((one) => one < nodePorts.first || one > nodePorts.last);
    if (port !== undefined) return `${environment('nodePorts')}: ${name} has the port ${port}, which is not in ${nodePorts.first}-${nodePorts.last}: keep a range that holds it, or delete the Service first`;
  }
  return undefined;
}

function nodeProblem(network: ClusterNetwork, nodes: readonly Node[]): string | undefined {
  for (const { metadata, spec } of nodes) {
    for (const own of spec?.podCIDRs ?? []) {
      const found = podCidrProblem(network, own);
      if (found === undefined) continue;
      const keep = found.setting === 'podCidrs' ? 'keep a range that holds it' : 'keep the prefix';
      return `${environment(found.setting)}: node ${metadata.name} has the pod CIDR ${own}, which ${found.problem}: ${keep}, or delete the node first`;
    }
  }
  return undefined;
}
