import { access } from 'node:fs/promises';
import { Agent } from 'node:http';
import { Stream } from 'node:stream';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import { RuntimeProblem } from '../pod-runtime.ts';

/** How long a question that the daemon answers at once may take before it is taken for hung, milliseconds. */
export const answerWithinMs = 30_000;

/** Of `DOCKER_HOST`, or where Docker listens by default. Throws for a daemon on another machine: it could not see this node's files. */
export function socketPathOf(host: string | undefined): string {
  if (host === undefined || host === '') return '/var/run/docker.sock';
  if (!host.startsWith('unix://') && !host.startsWith('/')) throw new Error(`DOCKER_HOST is ${host}: pods need the Docker of this machine, as unix:///path/to/docker.sock`);
  return host.replace('unix://', '');
}

/**
 * Keeps connections open for the next request. docker-modem writes out all that it sends a request with, for a debug log that is off: with the
 * sockets of an agent in it that takes tens of milliseconds for each request, so this one has nothing to show.
 */
class QuietAgent extends Agent {
  constructor() {
    super({ keepAlive: true });
  }

  [inspect.custom](): string {
    return 'Agent';
  }
}

/** One Docker daemon, on its unix socket. */
export class Daemon {
  readonly socketPath: string;
  readonly #agent = new QuietAgent();
  #client: Promise<Docker> | undefined;
  #version = 'unknown';

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** dockerode takes some 30 MiB: it is loaded when there is a daemon to talk to. */
  async client(): Promise<Docker> {
    if (this.#client === undefined) await access(this.socketPath);
    this.#client ??= import('dockerode').then(({ default: Client }) => new Client({ socketPath: this.socketPath, agent: this.#agent } as Docker.DockerOptions));
    return this.#client;
  }

  /** Of the daemon that answered last. */
  get version(): string {
    return this.#version;
  }

  /** Why it cannot run containers now. */
  async problem(): Promise<string | undefined> {
    try {
      const { Version, Os } = await this.ask('Unavailable', (docker, signal) => versionOf(docker, signal), 5_000);
      this.#version = Version;
      return Os === 'linux' ? undefined : `the Docker daemon at ${this.socketPath} runs ${Os} containers: Linux ones are needed`;
    } catch (error) {
      return (error as RuntimeProblem).message;
    }
  }

  /** In words, when it was not the daemon that answered; undefined for its own errors. */
  #unreachable(error: unknown): string | undefined {
    if ((error as { statusCode?: unknown }).statusCode !== undefined) return undefined;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return `no Docker daemon at ${this.socketPath}: install Docker (Debian: apt-get install docker.io) and start it, or set DOCKER_HOST`;
    if (code === 'EACCES') return `this user may not use Docker at ${this.socketPath}: add it to the group docker, or run as root`;
    if (code === 'ECONNREFUSED') return `the Docker daemon at ${this.socketPath} is not running: start it`;
    if (code === 'ECONNRESET' || code === 'EPIPE' || message === 'socket hang up' || message === 'aborted') return `the Docker daemon at ${this.socketPath} went away`;
    return undefined;
  }

  /**
   * Runs one request; what it throws is a RuntimeProblem: `Unavailable` when no daemon answered within `withinMs` (0: it may take its time), else `code`
   * with the daemon's words. A request that was not answered in time holds no connection any more: `signal` ends it, and a stream that comes late is closed.
   */
  async ask<T>(code: RuntimeProblem['code'], request: (docker: Docker, signal: AbortSignal) => Promise<T>, withinMs = answerWithinMs): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new AbortController();
    const answered = this.client().then((docker) => request(docker, late.signal));
    const hung = new Promise<never>((_, reject) => {
      if (withinMs > 0) timer = setTimeout(() => reject(new RuntimeProblem('Unavailable', `the Docker daemon at ${this.socketPath} does not answer`)), withinMs);
    });
    try {
      return await Promise.race([answered, hung]);
    } catch (error) {
      late.abort();
      void answered.then(discard, () => undefined);
      throw this.problemOf(code, error);
    } finally {
      clearTimeout(timer);
    }
  }

  problemOf(code: RuntimeProblem['code'], error: unknown): RuntimeProblem {
    if (error instanceof RuntimeProblem) return error;
    const gone = this.#unreachable(error);
    if (gone !== undefined) return new RuntimeProblem('Unavailable', gone, { cause: error });
    return new RuntimeProblem(code, daemonsWords(error), { cause: error });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function discard(answer: unknown): void {
  if (answer instanceof Stream) (answer as Stream & { destroy(): void }).destroy();
}

/** The types of dockerode do not know that it takes options. */
const versionOf = (docker: Docker, abortSignal: AbortSignal): Promise<Docker.DockerVersion> => (docker.version as (options: object) => Promise<Docker.DockerVersion>).call(docker, { abortSignal });

/** HTTP status of the daemon's answer, when it was one. */
export function statusOf(error: unknown): number | undefined {
  const { statusCode, cause } = error as { statusCode?: number; cause?: { statusCode?: number } };
  return statusCode ?? cause?.statusCode;
}

/** What the daemon said, without what dockerode puts around it. */
function daemonsWords(error: unknown): string {
  const { json, message } = error as { json?: { message?: string }; message?: string };
  return (json?.message ?? (message ?? String(error)).replace(/^\(HTTP code \d+\) .*? - /, '')).trim();
}
