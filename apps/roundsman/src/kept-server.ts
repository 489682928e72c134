import type { Logger } from 'pino';
import type { ServerProcess } from './server-process.ts';

interface Server {
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

export interface KeepOptions<T extends Server> {
  /** `NATS`: how messages call it. */
  readonly name: string;
  /** The same port and data every time. Rejects when it cannot be started. */
  readonly start: () => Promise<T>;
  /** The server runs again, as another process. */
  readonly onRestart: () => void;
  /** It does not come back; the reasons, oldest first. */
  readonly onGivenUp: (error: Error) => void;
  readonly log: Logger;
  /** Waits before the attempts to start it again, milliseconds. */
  readonly waitsMs?: readonly number[];
  /** A server that ends again within this time of its restart is given up. */
  readonly settledMs?: number;
}

/** A server that is started again when it ends: its users reconnect, and go on. One that ends again at once is given up. */
export class KeptServer<T extends Server> {
  readonly #options: Required<KeepOptions<T>>;
  #server: T;
  #restartedAt = Number.NEGATIVE_INFINITY;
  readonly #stopping = new AbortController();
  #starting: Promise<void> | undefined;

  private constructor(server: T, options: Required<KeepOptions<T>>) {
    this.#server = server;
    this.#options = options;
    this.#watch();
  }

  /** Resolves when it runs for the first time; that start is tried once. */
  static async start<T extends Server>(options: KeepOptions<T>): Promise<KeptServer<T>> {
    return new KeptServer(await options.start(), { waitsMs: [500, 2_000, 5_000], settledMs: 60_000, ...options });
  }

  get current(): T {
    return this.#server;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#starting;
    await this.#server.stop();
  }

  #watch(): void {
    void this.#server.process.ended.then((reason) => {
      if (!this.#stopping.signal.aborted) this.#starting = this.#again(reason);
    });
  }

  async #again(reason: string): Promise<void> {
    const { name, start, onRestart, onGivenUp, log, waitsMs, settledMs } = this.#options;
    const reasons = [`${name} ended (${reason})`];
    const sinceMs = Date.now() - this.#restartedAt;
    if (sinceMs < settledMs) return onGivenUp(new Error(`${reasons[0]} ${Math.round(sinceMs / 1000)} s after it had been started again`));
    for (const waitMs of waitsMs) {
      log.error({ server: name, reason: reasons.at(-1), waitMs }, 'a server ended; it is started again');
      if (!(await this.#pause(waitMs))) return;
      try {
        const server = await start();
        this.#server = server;
        this.#restartedAt = Date.now();
        this.#watch();
        log.warn({ server: name, pid: server.process.recorded.pid }, 'the server runs again');
        onRestart();
        return;
      } catch (error) {
        reasons.push(`it could not be started again: ${(error as Error).message}`);
      }
    }
    if (!this.#stopping.signal.aborted) onGivenUp(new Error(reasons.join('; ')));
  }

  /** False when it is to stop. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const wake = (): void => resolve();
    signal.addEventListener('abort', wake, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
    return !signal.aborted;
  }
}
