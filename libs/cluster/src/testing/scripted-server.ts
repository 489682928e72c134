import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Answer = (asked: Asked, response: ServerResponse) => void;

/** An HTTP server that answers as a test says, and a kubeconfig for it. */
export class ScriptedServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'roundsman-cluster-'));
  readonly asked: Asked[] = [];
  answer: Answer = (_asked, response) => void response.writeHead(404).end();
  connections = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', (socket) => {
      this.connections += 1;
      socket.once('close', () => (this.connections -= 1));
    });
  }

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    server.writeKubeconfig();
    return server;
  }

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  writeKubeconfig(user: object = { token: 'secret' }): void {
    writeFileSync(this.kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', clusters: [{ name: 's', cluster: { server: this.url } }], users: [{ name: 'u', user }], contexts: [{ name: 'c', context: { cluster: 's', user: 'u' } }] }));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server');
    const asked: Asked = { method: request.method ?? '', path: pathname, query: Object.fromEntries(searchParams), headers: request.headers, body };
    this.asked.push(asked);
    this.answer(asked, response);
  }
}

export const json = (response: ServerResponse, object: object, code = 200): void => void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(object));
export const refuse = (response: ServerResponse, code: number, reason: string, message: string): void => json(response, { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message }, code);
export const podOf = (name: string, version: number | string, more: object = {}): object => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'x', uid: `uid-${name}`, resourceVersion: String(version), ...more } });
export const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
