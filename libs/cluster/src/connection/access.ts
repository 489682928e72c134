import { readFile, stat } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { dirname } from 'node:path';
import { inClusterKubeconfig, parseKubeconfig, type Kubeconfig } from './kubeconfig.ts';
import { loginOf, type Login } from './login.ts';

/** Where the server is and how it is spoken to, for one request. */
export interface Access {
  readonly server: URL;
  readonly agent: HttpAgent;
  readonly headers: Readonly<Record<string, string>>;
  /** User and password, where a kubeconfig has them. */
  readonly auth: string | undefined;
}

/** A kubeconfig as it was at one time. */
interface Read {
  readonly stamp: string;
  readonly kubeconfig: Kubeconfig;
  readonly login: Login;
}

/**
 * The way to a server by a kubeconfig, or by the service account of the own pod. The file is read again when it has changed: a server that was set up anew is found
 * without a restart.
 */
export class AccessByKubeconfig {
  readonly #from: string;
  #current: Read | undefined;
  #agent: { readonly of: string; readonly agent: HttpAgent } | undefined;

  constructor(from: string) {
    this.#from = from;
  }

  /** URL of the server, once it is known. */
  get server(): string | undefined {
    return this.#current?.kubeconfig.cluster.server;
  }

  /** Rejects when the file is not there or no kubeconfig, or when who we are cannot be found out. */
  async access(): Promise<Access> {
    const { kubeconfig, login } = await this.#read();
    const server = new URL(kubeconfig.cluster.server);
    const options = await login().catch((error: unknown) => {
      throw new Error(`cannot log in to ${kubeconfig.cluster.server} as the kubeconfig ${this.#from} says: ${messageOf(error)}`, { cause: error });
    });
    const agent = kubeconfig.cluster.proxyUrl ? (options.agent as HttpAgent) : this.#agentFor(server, options);
    return { server, agent, headers: options.headers, auth: options.auth ?? undefined };
  }

  /** Ends connections that wait for the next request; those in use end with it. */
  close(): void {
    if (this.#agent !== undefined) retire(this.#agent.agent);
    this.#agent = undefined;
  }

  async #read(): Promise<Read> {
    if (this.#from === 'in-cluster') return (this.#current ??= await made('', inClusterKubeconfig(process.env)));
    try {
      const { mtimeMs, size, ino } = await stat(this.#from);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (this.#current?.stamp !== stamp) this.#current = await made(stamp, await parseKubeconfig(await readFile(this.#from, 'utf8'), dirname(this.#from)));
      return this.#current;
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it is not there' : messageOf(error);
      throw new Error(`cannot read the kubeconfig ${this.#from}: ${why}`, { cause: error });
    }
  }

  /** One agent, which keeps connections, for as long as certificates and the like stay the same. */
  #agentFor(server: URL, { ca, cert, key, servername, rejectUnauthorized }: RequestOptions): HttpAgent {
    const tls = Object.fromEntries(Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, value]) => value !== undefined));
    const of = JSON.stringify([server.protocol, tls]);
    if (this.#agent?.of === of) return this.#agent.agent;
    this.close();
    const keeping = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 8 };
    const agent = server.protocol === 'http:' ? new HttpAgent(keeping) : new HttpsAgent({ ...keeping, ...tls });
    this.#agent = { of, agent };
    return agent;
  }
}

const made = async (stamp: string, kubeconfig: Kubeconfig): Promise<Read> => ({ stamp, kubeconfig, login: await loginOf(kubeconfig) });
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}
