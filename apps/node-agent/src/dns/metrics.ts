import { Counter, Histogram, type Registry } from 'prom-client';
import type { Reply, Source } from './resolver.ts';
import { flags } from './wire/codes.ts';

const rcodeNames = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

/** Counts answers by where they came from and what they said, and how long they took. */
export class DnsMetrics {
  readonly #queries: Counter<'source' | 'rcode'>;
  readonly #seconds: Record<Source, Histogram.Internal<'source'>>;

  constructor(registry: Registry) {
    this.#queries = new Counter({ name: 'roundsman_node_agent_dns_queries_total', help: 'DNS queries answered on this node: names of the cluster, names asked upstream, refused', labelNames: ['source', 'rcode'], registers: [registry] });
    const seconds = new Histogram({ name: 'roundsman_node_agent_dns_seconds', help: 'Time from a query to its answer', labelNames: ['source'], buckets: [0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2], registers: [registry] });
    this.#seconds = { cluster: seconds.labels('cluster'), upstream: seconds.labels('upstream'), none: seconds.labels('none') };
  }

  /** `begun` by performance.now(). */
  counted(reply: Reply, begun: number): Reply {
    const rcode = reply.message[3]! & flags.rcode;
    this.#queries.inc({ source: reply.source, rcode: rcodeNames[rcode] ?? String(rcode) });
    this.#seconds[reply.source].observe((performance.now() - begun) / 1000);
    return reply;
  }
}
