/** How a node forwards Services, whoever does it: the rules of the kernel and the forwarder in user space are both made from this. Plain data, ordered: equal states give equal tables. */
export interface ForwardingTable {
  /** Ranges of the cluster's pods: what comes from elsewhere is masqueraded on its way to an endpoint. */
  readonly podCidrs: readonly string[];
  /** Those of the pods here: what they send to a Service's outer addresses comes from nowhere else. */
  readonly localPodCidrs: readonly string[];
  readonly clusterIpCidrs: readonly string[];
  readonly loadBalancerCidrs: readonly string[];
  readonly ports: readonly ForwardedPort[];
  readonly healthChecks: readonly HealthCheck[];
}

/** One port of a Service in one family of addresses. */
export interface ForwardedPort {
  /** `default/web/80-tcp-ip`, unique; only characters that names in nftables may have. */
  readonly key: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
  readonly clusterIP: string;
  readonly nodePort: number | undefined;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** Clients that its load balancer addresses let through; empty: all. */
  readonly sourceRanges: readonly string[];
  /** Seconds for which a client keeps its endpoint; undefined: each connection is on its own. */
  readonly affinitySeconds: number | undefined;
  /** On any node. */
  readonly endpoints: readonly ForwardedEndpoint[];
  /** On this node; whom the policies `Local` speak of. */
  readonly localEndpoints: readonly ForwardedEndpoint[];
  /** All that still serve, chosen or not: flows to any other are cut where the protocol knows no end (UDP). */
  readonly serving: readonly ForwardedEndpoint[];
  /** What comes to the ClusterIP goes to local endpoints only. */
  readonly internalLocal: boolean;
  /** What comes from outside goes to local endpoints only, with its source address. */
  readonly externalLocal: boolean;
}

export interface ForwardedEndpoint {
  readonly address: string;
  readonly port: number;
}

/** `healthCheckNodePort`: tells load balancers outside whether this node has endpoints. */
export interface HealthCheck {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}
