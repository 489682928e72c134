import type { Bus } from '@roundsman/bus';
import { systemServices } from '@roundsman/api';
import { FollowedNetwork } from '@roundsman/network';
import type { Logger } from 'pino';
import { Forwarder } from './http/forwarder.ts';
import { Listener, type Handlers, type Tls } from './http/listener.ts';
import { Requests } from './http/requests.ts';
import { Upgrader } from './http/upgrader.ts';
import { Measures } from './measures.ts';
import { served } from './rules/class.ts';
import { Routes } from './rules/routes.ts';
import type { Settings } from './settings.ts';
import { Certificates } from './tls/certificates.ts';
import { FollowedSecrets } from './tls/followed-secrets.ts';
import { ownCertificate } from './tls/own-certificate.ts';
import type { TlsSecret } from './tls/secret.ts';
import { Backends } from './upstream/backends.ts';

const rulesOf: ReadonlySet<string> = new Set(['ingresses.networking.k8s.io', 'ingressclasses.networking.k8s.io']);

/** Lets HTTP in to the Services of a cluster as its Ingresses say. Changes take effect with the next request, and end no connection. */
export class IngressProxy {
  readonly measures = new Measures();
  readonly #settings: Settings;
  readonly #log: Logger;
  readonly #network: FollowedNetwork;
  readonly #secrets: FollowedSecrets;
  readonly #certificates = new Certificates();
  readonly #backends: Backends;
  readonly #upgrader: Upgrader;
  readonly #forwarder: Forwarder;
  readonly #requests: Requests;
  #routes: Routes | undefined;
  #known: readonly TlsSecret[] = [];
  #told: readonly string[] = [];
  #draining = false;
  #rebuilding = false;
  /** One per address. */
  #plain: readonly Listener[] = [];
  #secure: readonly Listener[] = [];

  constructor(settings: Settings, bus: Bus, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#network = new FollowedNetwork(bus, log);
    this.#secrets = new FollowedSecrets(bus, log, (secrets) => {
      this.#known = secrets;
      this.#certify();
    });
    this.#backends = new Backends(this.#network.state, settings.connectMs);
    this.#forwarder = new Forwarder(settings.responseMs, () => this.#draining);
    this.#upgrader = new Upgrader(settings.responseMs);
    this.#requests = new Requests({
      routes: () => this.#routes,
      backends: this.#backends,
      forwarder: this.#forwarder,
      upgrader: this.#upgrader,
      clientMs: settings.clientMs,
      httpsPortFor: (port) => this.#httpsPortFor(port),
      draining: () => this.#draining,
      over: (ingress, status, seconds) => this.measures.over(ingress, status, seconds),
      log,
    });
  }

  /** Resolves when it listens; requests are answered with 503 until the rules are known. Rejects when a port is taken. */
  async start(): Promise<void> {
    const { bind, httpPort, httpsPort } = this.#settings;
    const own = await ownCertificate();
    const handlers: Handlers = {
      request: (request, response) => void this.#requests.handle(request, response),
      upgrade: (request, socket, head) => void this.#requests.upgrade(request, socket, head),
    };
    const tls: Tls = { ...own, contextFor: (name) => this.#certificates.contextFor(name) };
    this.#plain = await listenAt(bind, httpPort, () => new Listener(handlers, this.#settings));
    this.#secure = await listenAt(bind, httpsPort, () => new Listener(handlers, this.#settings, tls));
    this.measures.watch({
      connections: () => [...this.#plain, ...this.#secure].reduce((sum, listener) => sum + listener.connections, 0),
      requestsOpen: () => this.#requests.open,
      webSocketsOpen: () => this.#upgrader.size,
      repeated: () => this.#forwarder.repeated,
      unconnected: () => this.#forwarder.unconnected,
      endpoints: () => this.#backends.endpoints().length,
      certificates: () => this.#certificates.size,
      certificateProblems: () => this.#certificates.problems.length,
    });
    this.#network.state.onChange(({ resource }) => {
      if (resource === 'network' || rulesOf.has(resource)) this.#rebuildSoon();
    });
    await Promise.all([this.#network.start(), this.#secrets.start()]);
    this.#log.info({ http: this.ports.http, https: this.ports.https }, 'listening');
  }

  /** Lets requests under way end, within the set time. */
  async stop(): Promise<void> {
    this.#draining = true;
    const listeners = [...this.#plain, ...this.#secure];
    const drained = Promise.all(listeners.map((listener) => listener.drain()));
    const late = setTimeout(() => {
      this.#upgrader.closeAll();
      for (const listener of listeners) listener.closeAll();
    }, this.#settings.drainMs);
    await drained;
    clearTimeout(late);
    await Promise.all([this.#network.stop(), this.#secrets.stop()]);
    this.#backends.close();
  }

  get ports(): { readonly http: number; readonly https: number } {
    return { http: this.#plain[0]?.port ?? 0, https: this.#secure[0]?.port ?? 0 };
  }

  /** Why it lets nothing in, in words. */
  problem(): string | undefined {
    if (this.#draining) return 'it is about to end';
    return this.#routes === undefined ? 'the rules are not known yet' : undefined;
  }

  /** What is wrong with the certificates that Ingresses ask for, each a sentence. */
  get certificateProblems(): readonly string[] {
    return this.#certificates.problems;
  }

  /** Many objects may change at once: the rules are made once, before the next request is read. */
  #rebuildSoon(): void {
    if (this.#rebuilding) return;
    this.#rebuilding = true;
    setImmediate(() => {
      this.#rebuilding = false;
      try {
        this.#rebuild();
      } catch (error) {
        this.#log.error({ err: error }, 'the rules of the Ingresses cannot be made; those before stay');
      }
    });
  }

  #rebuild(): void {
    const { state } = this.#network;
    if (state.network === undefined) return;
    const before = JSON.stringify(this.#routes?.tls);
    const ingresses = served(state.ingresses(), state.ingressClasses());
    this.#routes = new Routes(ingresses);
    this.measures.keepOnly(new Set(ingresses.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)));
    this.#backends.keepOnly(this.#routes.references);
    if (JSON.stringify(this.#routes.tls) === before) return;
    this.#certify();
    this.#secrets.ask();
  }

  #certify(): void {
    if (this.#routes === undefined || !this.#secrets.known) return;
    this.#certificates.update(this.#routes.tls, this.#known);
    const { problems } = this.#certificates;
    for (const problem of problems) if (!this.#told.includes(problem)) this.#log.warn({}, problem);
    this.#told = problems;
  }

  /** By the ports of the Service before the proxies, or its own. */
  #httpsPortFor(httpPort: number): number {
    if (httpPort === this.ports.http) return this.ports.https;
    const ports = this.#network.state.service(systemServices.namespace, systemServices.ingress)?.spec.ports ?? [];
    const [http, https] = ['http', 'https'].map((name) => ports.find((port) => port.name === name));
    return (http?.nodePort === httpPort ? https?.nodePort : https?.port) ?? 443;
  }
}

/** Port 0: one that is free on the first address, and the same on the others. */
async function listenAt(addresses: readonly string[], port: number, make: () => Listener): Promise<Listener[]> {
  const listeners: Listener[] = [];
  for (const address of addresses) {
    const listener = make();
    await listener.listen(address, listeners[0]?.port ?? port);
    listeners.push(listener);
  }
  return listeners;
}
