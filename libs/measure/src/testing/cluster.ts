import type { RunnerOutcome } from '../verdict/observation.ts';
import { resultOf, type ResultOptions } from './results.ts';

export type Family = 'v4' | 'v6';
export type Layer = 'endpoint' | 'clusterIP' | 'nodePort' | 'loadBalancer' | 'ingress';

/** One measurement of a NetReach round: from a node, at a layer, to a node where the layer has one. */
export interface Probe {
  from: string;
  layer: Layer;
  family: Family;
  to?: string;
  interface?: string;
}
export interface Cluster {
  nodes: string[];
  families: Family[];
  layers: Layer[];
  interfaces: string[];
}

export const good: ResultOptions = { latenciesUs: [800, 900] };

/** What a round over all layers measures in a cluster, where `fault` says what is not good. */
export function roundOf({ nodes, families, layers, interfaces }: Cluster, fault: (probe: Probe) => ResultOptions | undefined): RunnerOutcome[] {
  return nodes.map((from) => {
    const targets = families.flatMap((family) =>
      layers.flatMap((layer) => {
        const one = (suffix: string, more: Pick<Probe, 'to' | 'interface'> = {}) => {
          const { to, interface: name } = more;
          const at = fault({ from, layer, family, ...more }) ?? good;
          return resultOf(`${layer}/${family}${suffix}`, { layer, family, ...(to === undefined ? {} : { node: to }), ...(name === undefined ? {} : { interface: name }), ...at });
        };
        if (layer === 'endpoint') return nodes.flatMap((to) => [one(`/${to}`, { to }), ...interfaces.map((name) => one(`/${to}/${name}`, { to, interface: name }))]);
        return layer === 'nodePort' ? nodes.map((to) => one(`/${to}`, { to })) : [one('')];
      }),
    );
    return { runner: `runner-${from}`, node: from, state: targets.every(({ ok }) => ok) ? 'ok' : 'failed', targets };
  });
}
