import type { RoundFinding } from '@roundsman/api';
import { layers } from '@roundsman/api/wire';
import { Below, forwardingLayers, type ForwardingLayer } from './below.ts';
import { findingsOf, withFewNodes, type Draft, type Family } from './draft.ts';
import { judgeAddress } from './forwarding.ts';
import { judgeInterfaces } from './interfaces.ts';
import { deadFamily, judgeMesh, type MeshVerdict } from './mesh.ts';
import { judgeNodePorts } from './node-ports.ts';
import { combine, type Observation } from './observation.ts';
import { judgeTarget, mergeBySource } from './targets.ts';

/**
 * Infers what is broken from the lowest layer up: the endpoints' own addresses, their other interfaces, the Service, its node ports, its load
 * balancer, the ingress; then targets that are none of these. What a lower layer explains is said there and not again. `silent`: nodes of which no
 * runner reported.
 */
export function judgeReachability(observations: readonly Observation[], silent: ReadonlySet<string>): RoundFinding[] {
  const isEndpoint = ({ result }: Observation): boolean => result.layer === 'endpoint' && result.targetNode !== undefined;
  const endpoints = observations.filter(isEndpoint);
  const pods = endpoints.filter(({ result }) => result.interface === undefined);
  const forwarded = observations.filter(({ result }) => isForwarding(result.layer));
  const others = observations.filter((o) => !isEndpoint(o) && !isForwarding(o.result.layer));

  const meshes = judgePods(pods);
  const drafts: Draft[] = [...meshes.values()].flatMap((mesh) => mesh.drafts);
  drafts.push(...judgeInterfaces(endpoints.filter(({ result }) => result.interface !== undefined), meshes));
  for (const [family, seen] of byFamily(forwarded)) {
    const below = new Below(family, meshes.get(family));
    for (const layer of Object.keys(forwardingLayers) as ForwardingLayer[]) {
      const ofLayer = seen.filter(({ result }) => result.layer === layer);
      drafts.push(...(layer === 'nodePort' ? judgeNodePorts(ofLayer, below, silent) : judgeAddress(layer, ofLayer, below)));
    }
  }
  const testedIn = new Map([...Map.groupBy(observations, ({ result }) => result.layer)].map(([layer, seen]) => [layer, [...byFamily(seen).keys()]]));
  const findings = findingsOf(withFewNodes(drafts), ({ layer }) => testedIn.get(layer) ?? []);

  // A node that is cut off in one family only may well reach such a target in the other.
  const badSources = new Set([...(meshes.values().next().value?.badSources.keys() ?? [])].filter((node) => [...meshes.values()].every((mesh) => mesh.badSources.has(node))));
  const ofTargets = [...Map.groupBy(others, (o) => o.result.target)].flatMap(([target, seen]) => judgeTarget(target, seen, badSources));
  findings.push(...mergeBySource(ofTargets, others));
  return findings.sort((a, b) => layers.indexOf(a.layer ?? 'dns') - layers.indexOf(b.layer ?? 'dns'));
}

const isForwarding = (layer: string): layer is ForwardingLayer => layer in forwardingLayers;
const byFamily = (all: readonly Observation[]): Map<Family, Observation[]> => Map.groupBy(all, ({ result }) => result.family);

function judgePods(pods: readonly Observation[]): Map<Family, MeshVerdict> {
  const families = [...byFamily(pods)];
  const dead = families.length > 1 ? families.filter(([, seen]) => combine(seen) === 'down').map(([family]) => family) : [];
  return new Map(families.map(([family, seen]) => [family, dead.includes(family) && dead.length < families.length ? deadFamily(seen, family) : judgeMesh(seen, '')]));
}
