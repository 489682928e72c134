import { zoneLabel, type Node, type NodeStatus } from '@roundsman/api';

/** What is known of a node where packets are steered. */
export interface NetworkNode {
  readonly name: string;
  readonly uid: string;
  /** Those that agents tell: `nodeNetworkAnnotations` of libs/api. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly addresses: NonNullable<NodeStatus['addresses']>;
  /** Canonical texts, IPv4 first; empty until it was given any. */
  readonly podCIDRs: readonly string[];
  /** Its label `topology.kubernetes.io/zone`; absent: it is in none. */
  readonly zone?: string;
  /** Its condition Ready is True: its agent was heard lately and is well. */
  readonly ready: boolean;
}

export function networkNodeFrom({ metadata, spec, status }: Node): NetworkNode {
  const zone = metadata.labels?.[zoneLabel] ?? '';
  return {
    name: metadata.name,
    uid: metadata.uid,
    annotations: metadata.annotations ?? {},
    addresses: status?.addresses ?? [],
    podCIDRs: spec?.podCIDRs ?? [],
    ...(zone === '' ? {} : { zone }),
    ready: status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true,
  };
}
