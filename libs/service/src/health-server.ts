import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Health } from './health.ts';

export interface HealthServer {
  /** The port it listens on: the one asked for, or the one the system chose for 0. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * `/healthz` (the process runs), `/readyz` (every check holds; `/readyz/<service>` for one), `/metrics` (Prometheus). For
 * processes that have no gateway in them. Rejects when the port is taken.
 */
export async function serveHealth(options: { host: string; port: number; health: Health; metrics: Registry }): Promise<HealthServer> {
  const { host, port, health, metrics } = options;
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://health').pathname;
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'text/plain', 'only GET\n');
    if (path === '/healthz' || path === '/livez') return send(response, 200, 'text/plain', 'ok\n');
    if (path === '/readyz' || path.startsWith('/readyz/')) {
      const service = path.slice('/readyz/'.length) || undefined;
      const report = health.report(service);
      if (service !== undefined && report.checks.length === 0) return send(response, 404, 'text/plain', `no service ${service} here\n`);
      return send(response, report.ready ? 200 : 503, 'application/json', `${JSON.stringify(report)}\n`);
    }
    if (path === '/metrics') {
      metrics.metrics().then(
        (text) => send(response, 200, metrics.contentType, text),
        (error: unknown) => send(response, 500, 'text/plain', `${String(error)}\n`),
      );
      return undefined;
    }
    return send(response, 404, 'text/plain', 'here are /healthz, /readyz, /readyz/<service> and /metrics\n');
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
