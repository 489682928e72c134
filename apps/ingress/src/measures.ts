import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What is read when somebody looks. */
export interface Watched {
  readonly connections: () => number;
  readonly requestsOpen: () => number;
  readonly webSocketsOpen: () => number;
  readonly repeated: () => number;
  readonly unconnected: () => number;
  readonly endpoints: () => number;
  readonly certificates: () => number;
  readonly certificateProblems: () => number;
}

const helps: Readonly<Record<keyof Watched, readonly [name: string, help: string]>> = {
  connections: ['connections', 'Connections of clients that are open'],
  requestsOpen: ['requests_open', 'Requests under way'],
  webSocketsOpen: ['websockets_open', 'WebSockets that are open'],
  repeated: ['requests_repeated_total', 'Requests sent again to another endpoint or on another connection'],
  unconnected: ['endpoint_connects_failed_total', 'Endpoints that could not be connected to when a request was for them'],
  endpoints: ['endpoints', 'Endpoints that requests are forwarded to'],
  certificates: ['certificates', 'Certificates from Secrets that are in use'],
  certificateProblems: ['certificate_problems', 'Hosts of Ingresses whose certificate is missing, broken or for other names'],
};

/** What the proxy counts. */
export class Measures {
  readonly registry = new Registry();
  readonly #requests = new Counter({ name: 'roundsman_ingress_requests_total', help: 'Requests by Ingress and status; code 0: the client left before it was answered', labelNames: ['ingress', 'code'], registers: [this.registry] });
  readonly #seconds = new Histogram({ name: 'roundsman_ingress_request_seconds', help: 'How long requests took, in all', buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60], registers: [this.registry] });

  /** What is counted, by Ingress. */
  readonly #codes = new Map<string, Set<number>>();

  over(ingress: string, code: number, seconds: number): void {
    this.#requests.inc({ ingress, code });
    const codes = this.#codes.get(ingress);
    if (codes === undefined) this.#codes.set(ingress, new Set([code]));
    else codes.add(code);
    this.#seconds.observe(seconds);
  }

  /** Of Ingresses that are gone nothing is told any more. */
  keepOnly(ingresses: ReadonlySet<string>): void {
    for (const [ingress, codes] of this.#codes) {
      if (ingress === '' || ingresses.has(ingress)) continue;
      for (const code of codes) this.#requests.remove({ ingress, code });
      this.#codes.delete(ingress);
    }
  }

  watch(watched: Watched): void {
    for (const [key, [name, help]] of Object.entries(helps)) {
      const gauge: Gauge = new Gauge({ name: `roundsman_ingress_${name}`, help, registers: [this.registry], collect: () => gauge.set(watched[key as keyof Watched]()) });
    }
  }
}
