import { indexIn, parseCidr, type ClusterNetwork, type KubeObject, type Node, type Service } from '@roundsman/api';
import { SettingsError } from '@roundsman/service';
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
    const port = [...(spec.ports ?? []).flatMap(({ nodePort }) => nodePort ?? []), ...(spec.healthCheckNodePort === undefined ? [] : [spec.healthCheckNodePort])].find((one) => one < nodePorts.first || one > nodePorts.last);
    if (port !== undefined) return `${environment('nodePorts')}: ${name} has the port ${port}, which is not in ${nodePorts.first}-${nodePorts.last}: keep a range that holds it, or delete the Service first`;
  }
  return undefined;
}

function nodeProblem({ podCidrs, nodePrefixes }: ClusterNetwork, nodes: readonly Node[]): string | undefined {
  for (const { metadata, spec } of nodes) {
    for (const own of (spec?.podCIDRs ?? []).map(parseCidr)) {
      const at = podCidrs.findIndex((text) => indexIn(parseCidr(text), own.text.split('/')[0]!) !== undefined);
      const held = `node ${metadata.name} has the pod CIDR ${own.text}`;
      if (at < 0) return `${environment('podCidrs')}: ${held}, which is not in ${podCidrs.join(' or ')}: keep a range that holds it, or delete the node first`;
      if (nodePrefixes[at] !== own.prefix) return `${environment('nodePrefixes')}: ${held}, which is no /${nodePrefixes[at]}: keep the prefix, or delete the node first`;
    }
  }
  return undefined;
}
