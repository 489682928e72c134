import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Logger } from 'pino';
import type { HealthCheck } from './forwarding/table.ts';

interface Answering {
  readonly server: Server;
  check: HealthCheck;
}

/** Answers on the healthCheckNodePort of Services, in kube-proxy's words: 200 while this machine has endpoints, else 503. */
export class HealthChecks {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #answering = new Map<number, Answering>();

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  serve(checks: readonly HealthCheck[]): void {
    const wanted = new Map(checks.map((check) => [check.port, check]));
    for (const [port, { server }] of this.#answering) if (!wanted.has(port)) this.#end(port, server);
    for (const [port, check] of wanted) {
      const known = this.#answering.get(port);
      if (known === undefined) this.#begin(port, check);
      else known.check = check;
    }
  }

  stop(): void {
    this.serve([]);
  }

  #begin(port: number, check: HealthCheck): void {
    const server = createServer((_request, response) => {
      const { namespace, name, localEndpoints } = answering.check;
      response.writeHead(localEndpoints > 0 ? 200 : 503, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff', 'x-load-balancing-endpoint-weight': String(localEndpoints) });
      response.end(JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy: true }));
    });
    const answering: Answering = { server, check };
    this.#answering.set(port, answering);
    // Told again with every table until it can be had.
    server.on('error', (error) => {
      this.#log.warn({ err: error, port, service: `${check.namespace}/${check.name}` }, 'the healthCheckNodePort of a Service is not answered');
      this.#end(port, server);
    });
    server.listen(port);
    void once(server, 'listening').then(() => server.unref(), () => undefined);
  }

  #end(port: number, server: Server): void {
    if (this.#answering.get(port)?.server === server) this.#answering.delete(port);
    server.close();
    server.closeAllConnections();
  }
}
