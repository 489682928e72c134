import { stat } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';

/** Where the server is and how it is spoken to, for one request. */
export interface Access {
  readonly server: URL;
  readonly agent: HttpAgent;
  readonly headers: Readonly<Record<string, string>>;
  /** User and password, where a kubeconfig has them. */
  readonly auth: string | undefined;
}

/**
 * A kubeconfig, or the service account of the own pod. The file is read again when it has changed: a server that was set up anew is found without a restart.
 * Who we are is asked of the library for each request, so that tokens that change (files, programs, OpenID Connect) are the current ones.
 */
export class Kubeconfig {
  readonly #from: string;
  readonly #load: () => KubeConfig;
  #config: KubeConfig | undefined;
  #stamp = '';
  #agent: { readonly of: string; readonly agent: HttpAgent } | undefined;

  /** `load`: makes an empty one, of a library that is loaded late because it is large. */
  constructor(from: string, load: () => KubeConfig) {
    this.#from = from;
    this.#load = load;
  }

  /** URL of the server, once it is known. */
  get server(): string | undefined {
    return this.#config?.getCurrentCluster()?.server;
  }

  /** Rejects when the file is not there or no kubeconfig, or when who we are cannot be found out. */
  async access(): Promise<Access> {
    const config = await this.#current();
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error(`the kubeconfig ${this.#from} has no cluster in its current context`);
    const server = new URL(cluster.server);
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new Error(`cannot log in to ${cluster.server} as the kubeconfig ${this.#from} says: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
    const agent = cluster.proxyUrl ? (options.agent as HttpAgent) : this.#agentFor(server, options);
    return { server, agent, headers: (options.headers ?? {}) as Record<string, string>, auth: options.auth ?? undefined };
  }

  /** Ends connections that wait for the next request; those in use end with it. */
  close(): void {
    if (this.#agent !== undefined) retire(this.#agent.agent);
    this.#agent = undefined;
  }

  async #current(): Promise<KubeConfig> {
    if (this.#from === 'in-cluster') return (this.#config ??= this.#inCluster());
    const { mtimeMs, size, ino } = await stat(this.#from).catch((error: NodeJS.ErrnoException) => {
      throw new Error(`cannot read the kubeconfig ${this.#from}: ${error.code === 'ENOENT' ? 'it is not there' : error.message}`, { cause: error });
    });
    const stamp = `${mtimeMs} ${size} ${ino}`;
    if (this.#config === undefined || stamp !== this.#stamp) {
      const config = this.#load();
      try {
        config.loadFromFile(this.#from);
      } catch (error) {
        throw new Error(`cannot read the kubeconfig ${this.#from}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
      this.#config = withPlainHttp(config);
      this.#stamp = stamp;
    }
    return this.#config;
  }

  #inCluster(): KubeConfig {
    if (!process.env['KUBERNETES_SERVICE_HOST']) throw new Error('the kubeconfig is said to be in-cluster, but this process runs in no pod of Kubernetes (KUBERNETES_SERVICE_HOST is not set)');
    const config = this.#load();
    config.loadFromCluster();
    return config;
  }

  /** One agent, which keeps connections, for as long as certificates and the like stay the same. */
  #agentFor(server: URL, { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }: RequestOptions): HttpAgent {
    const tls = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized };
    const of = JSON.stringify([server.protocol, tls]);
    if (this.#agent?.of === of) return this.#agent.agent;
    this.close();
    const keeping = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 8 };
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    const agent = server.protocol === 'http:' ? new HttpAgent(keeping) : new HttpsAgent({ ...keeping, ...given });
    this.#agent = { of, agent };
    return agent;
  }
}

function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** The library speaks plain HTTP (`kubectl proxy`) only where certificates are not to be looked at; there are none. */
function withPlainHttp(config: KubeConfig): KubeConfig {
  const { clusters, users, contexts, currentContext } = config;
  if (clusters.some(({ server }) => server.startsWith('http:'))) {
    config.loadFromOptions({ clusters: clusters.map((cluster) => (cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster)), users, contexts, currentContext });
  }
  return config;
}
