import { indexIn, invalid, invalidValue, kindByResource, parseCidr, type ClusterNetwork, type KubeObject, type Node } from '@roundsman/api';
import type { AdmissionView } from '../admission/outcome.ts';

/** Why a part of a node cannot be one in this cluster, and which setting would have to be another; undefined when it can. `text` is a range. */
export function podCidrProblem({ podCidrs, nodePrefixes }: ClusterNetwork, text: string): { readonly setting: 'podCidrs' | 'nodePrefixes'; readonly problem: string } | undefined {
  const { prefix } = parseCidr(text);
  const at = podCidrs.findIndex((range) => indexIn(parseCidr(range), text.split('/')[0]!) !== undefined);
  if (at < 0) return { setting: 'podCidrs', problem: `is not in ${podCidrs.join(' or ')}` };
  return prefix === nodePrefixes[at] ? undefined : { setting: 'nodePrefixes', problem: `is no /${nodePrefixes[at]}` };
}

/** A node has parts of the cluster's ranges, whoever writes them: with others intake would not start again. Throws a 422. What is no range, or another node's, the rules tell. */
export function checkPodCidrs(object: KubeObject, { addresses: { network } }: Pick<AdmissionView, 'addresses'>, old: KubeObject | undefined): void {
  const { metadata, spec } = object as Node;
  // Once it has them they may not change: the rules say so.
  if (((old as Node | undefined)?.spec?.podCIDRs ?? []).length > 0) return;
  const given = spec?.podCIDRs ?? [];
  const causes = given.flatMap((text, index) => {
    const found = isRange(text) ? podCidrProblem(network, text) : undefined;
    return found === undefined ? [] : [invalidValue(`spec.podCIDRs[${index}]`, text, `${found.problem}, as the parts of nodes are in this cluster`)];
  });
  if (causes.length > 0) throw invalid(kindByResource.get('nodes')!, metadata.name, causes);
}

function isRange(text: string): boolean {
  try {
    parseCidr(text);
    return true;
  } catch {
    return false;
  }
}
