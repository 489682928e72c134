import type { SandboxNetwork } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';

/** What the addresses of a node are. */
export interface NodeAddressing {
  /** The node's own in each of its ranges. */
  readonly nodeAddresses: readonly string[];
  readonly podCIDRs: readonly string[];
  readonly mtu: number;
}

/** Where the links of a node's pods end. */
export interface NodePlace {
  /** What an earlier agent left, before anything is known of addresses. */
  find(): Promise<NetworkNamespace | undefined>;
  /** Makes it, or what is missing of it. */
  ensure(addressing: NodeAddressing): Promise<NetworkNamespace>;
  /** Of the node, as far as what was found tells: an agent that was started again must not tell others until it is told them. */
  nodeAddresses(): readonly string[];
  /** How sandboxes of pods on the node's own network are made; undefined while there is none. */
  hostNetwork(): SandboxNetwork | undefined;
  /** Destinations that the agent's namespace must have routes to. */
  routes(addressing: NodeAddressing): readonly string[];
}
