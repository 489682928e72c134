/** One published port of a pod on its node, of one family: `hostIP` is an address of the node, or empty for all that it has. */
export interface HostPort {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly hostIP: string;
  readonly hostPort: number;
  /** Of the pod. */
  readonly address: string;
  readonly containerPort: number;
}

export interface PublishedPort extends HostPort {
  readonly podUid: string;
}

/**
 * The ports of a node's pods on the node itself, in the rules of its network namespace. They outlive the agent: a restarted one finds them where it left them,
 * and whoever connects pods says again which ones there are.
 */
export interface HostPorts {
  /** All host ports of a pod in place of those it had; in effect when it resolves. Rejects when they cannot be published, with the reason. */
  publish(podUid: string, ports: readonly HostPort[]): Promise<void>;
  /** The pod is gone; also when it had none. Never rejects: it is tried until it is done. */
  release(podUid: string): Promise<void>;
  /** The pods there are, told once after the start: ports of any other are taken back, soon. */
  keepOnly(podUids: readonly string[]): Promise<void>;
}
