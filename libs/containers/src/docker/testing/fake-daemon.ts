import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a daemon never does on demand: answers late, or not, or with errors. Knows the connections that are open. */
export class FakeDaemon implements AsyncDisposable {
  readonly socket = join(mkdtempSync(join(tmpdir(), 'roundsman-daemon-')), 'docker.sock');
  readonly #server;
  readonly #connections = new Set<object>();
  /** Connections so far. */
  accepted = 0;

  private constructor(answer: RequestListener) {
    this.#server = createServer(answer);
    this.#server.on('connection', (socket) => {
      this.accepted += 1;
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  static async start(answer: RequestListener): Promise<FakeDaemon> {
    const daemon = new FakeDaemon(answer);
    daemon.#server.listen(daemon.socket);
    await once(daemon.#server, 'listening');
    return daemon;
  }

  get connections(): number {
    return this.#connections.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(join(this.socket, '..'), { recursive: true, force: true });
  }
}
