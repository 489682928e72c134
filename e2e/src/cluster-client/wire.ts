import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP proxy before a server, which a test can cut and hold. */
export class Wire {
  state: 'whole' | 'cut' | 'held' = 'whole';
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(readonly target: () => URL) {
    this.#server = createServer((near) => this.#carry(near));
  }

  /** `target` is asked for each connection: a server may come back elsewhere. */
  static async before(target: () => URL): Promise<Wire> {
    const wire = new Wire(target);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#open.size;
  }

  /** Connections break, new ones are refused. */
  cut(): void {
    this.state = 'cut';
    for (const socket of this.#open) socket.destroy();
  }

  /** Connections stay and new ones are taken, and nothing comes through any more. */
  hold(): void {
    this.state = 'held';
  }

  mend(): void {
    // What was held is lost.
    if (this.state === 'held') this.cut();
    this.state = 'whole';
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #carry(near: Socket): void {
    if (this.state === 'cut') return void near.destroy();
    this.#open.add(near);
    const { hostname, port } = this.target();
    const far = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    for (const [from, to] of [[near, far], [far, near]] as const) {
      from.on('data', (data) => void (this.state === 'whole' && to.write(data)));
      from.on('error', () => to.destroy());
      from.on('end', () => to.end());
      from.on('close', () => to.destroy());
    }
    near.on('close', () => this.#open.delete(near));
  }
}
