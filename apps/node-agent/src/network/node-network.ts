import type { HostPorts } from '../services/host-ports.ts';
import type { NetworkNamespace } from '../services/network-namespace.ts';
import type { PodNetwork } from './pod-network.ts';

/** The network of a node as its agent keeps it. */
export interface NodeNetwork extends PodNetwork {
  readonly mode: 'machine' | 'namespace' | 'docker';
  /** Where the node's own packets go; undefined while the node has no place yet, and where only the daemon knows. */
  readonly place: NetworkNamespace | undefined;
  /** For the Node: mode and address of the machine. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Who publishes host ports of pods, where Docker does not; said before the start. */
  publishBy(hostPorts: HostPorts): void;
  start(): Promise<void>;
  /** Everything stays as it is. */
  stop(): Promise<void>;
}
