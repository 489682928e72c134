import type { Draft, Family, Layer } from './draft.ts';
import type { MeshVerdict } from './mesh.ts';
import type { Health, Observation } from './observation.ts';

/** The layers that lead to the endpoints, lowest first; with how a sentence calls them. */
export const forwardingLayers = { clusterIP: 'the Service', nodePort: 'node ports', loadBalancer: 'the load balancer', ingress: 'the ingress' } as const satisfies Partial<Record<Layer, string>>;
export type ForwardingLayer = keyof typeof forwardingLayers;

/** What is known of the layers below the one that is judged, in one family: what it explains is not said again. */
export class Below {
  /** Fails for everybody, and what is above it with it. */
  whole: Draft | undefined;
  /** Nodes whose forwarding of Services is broken. */
  readonly forwarders = new Map<string, Draft>();
  /** Nodes from which a lower layer is worse than it should be. */
  readonly impaired = new Set<string>();
  /** The Service by its cluster address, where that was tested: does it work from this node? */
  readonly service = new Map<string, Health>();

  constructor(
    readonly family: Family,
    readonly mesh: MeshVerdict | undefined,
  ) {
    this.whole = mesh?.whole;
    for (const [node, health] of mesh?.endpoints ?? []) if (health !== 'good') this.impaired.add(node);
  }

  /** `, although the Service works by its cluster address`: what makes the layer above the culprit; empty where nothing is known. */
  although(nodes: Iterable<string>): string {
    const all = [...nodes];
    const works = (known: ReadonlyMap<string, Health> | undefined): Health | undefined => {
      const healths = all.map((node) => known?.get(node));
      if (healths.length === 0 || healths.includes(undefined) || healths.includes('down')) return undefined;
      return healths.every((health) => health === 'good') ? 'good' : 'impaired';
    };
    if (works(this.service) !== undefined) return ', although the Service works by its cluster address';
    const endpoints = works(this.mesh?.endpoints);
    return endpoints === undefined ? '' : endpoints === 'good' ? ', although every endpoint answers directly' : ', although endpoints answer directly';
  }

  /** Observations whose prober cannot reach anything are said already. */
  trusted(seen: readonly Observation[], layer: ForwardingLayer): Observation[] {
    return seen.filter(({ from, health }) => {
      const cause = this.mesh?.badSources.get(from);
      if (cause !== undefined && health !== 'good') cause.above.add(cause === this.whole ? forwardingLayers[layer] : `${forwardingLayers[layer]} from there`);
      return cause === undefined;
    });
  }
}
