import { hostname } from 'node:os';
import { Inject, Injectable, Module, type DynamicModule, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '@roundsman/api';
import { ChangeFeed } from '@roundsman/reconcile';
import { openReports, type Reports } from '@roundsman/reports';
import type { ServiceContext } from '@roundsman/service';
import { openStore, type Store } from '@roundsman/store';
import { Gauge } from 'prom-client';
import { Api } from './api.ts';
import type { GatewayConfig } from './config.ts';
import { authenticator } from './http/auth.ts';
import { serverCertificate, type ServerCertificate } from './http/certificate.ts';
import { refuseOpenHttp } from './http/listener.ts';
import { defaultLiveLimits, LiveStreams } from './live/streams.ts';
import { PodHandler } from './pods/handler.ts';
import { Catalogue, reportResources, storedResources, usageResources } from './resources/catalogue.ts';
import { ResourceHandler } from './resources/handler.ts';
import { ReportFeed } from './resources/report-feed.ts';
import { Tasks } from './resources/tasks.ts';
import type { Watch } from './resources/watch.ts';
import { Writes } from './resources/writes.ts';
import { GatewayServer } from './server.ts';
import { OpenStreams } from './streams/open-streams.ts';

/** Where the gateway can be reached. */
export interface Listening {
  readonly port: number;
  /** For kubeconfigs: `publicUrl`, or `https://host:port` (`http://` without TLS; kubectl then sends no token). */
  readonly url: string;
  /** Plain HTTP on the same port, for programs on this machine. */
  readonly localUrl: string;
  /** PEM that clients of `url` must trust, when the gateway made it itself. */
  readonly certificateAuthority: string | undefined;
}

const CONTEXT = Symbol('gateway context');
const LISTENING = Symbol('gateway listening');
export const productVersion = '0.1.0';

/** Puts the parts together and holds their order: read side first, the listener last; the other way round at the end. */
@Injectable()
class Gateway implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<GatewayConfig>;
  readonly #listening: (where: Listening) => void;
  readonly #store: Store;
  readonly #feed: ChangeFeed;
  readonly #live: LiveStreams;
  readonly #reports: Reports;
  readonly #reportFeed: ReportFeed;
  readonly #serve: (certificate: ServerCertificate | undefined) => GatewayServer;
  readonly #podStreams: OpenStreams;
  #server: GatewayServer | undefined;
  readonly #watches = new Set<Watch>();
  #url = '';

  constructor(@Inject(CONTEXT) context: ServiceContext<GatewayConfig>, @Inject(LISTENING) listening: (where: Listening) => void) {
    this.#context = context;
    this.#listening = listening;
    const { bus, config, health, log, metrics } = context;
    const authenticate = authenticator(config.tokenFile, config.insecure);
    this.#store = openStore(context.databaseUrl as string, { name: 'gateway', connections: 8, onProblem: (error) => log.warn({ err: error }, 'an idle database connection broke') });
    this.#feed = new ChangeFeed({ bus, source: this.#store, log });
    this.#live = new LiveStreams(bus, { ...defaultLiveLimits, maxClients: config.maxLiveClients });
    this.#reports = openReports(context.databaseUrl as string, { name: 'roundsman gateway reports', onError: (error) => log.warn({ err: error }, 'an idle database connection broke') });
    const tasks = new Tasks(this.#store);
    this.#reportFeed = new ReportFeed({ bus, reports: this.#reports, tasks, changes: this.#feed, log });
    const kdoctor = config.kdoctorAliases ? config.kdoctorNamespace : undefined;
    const stored = storedResources(this.#store, this.#feed, kdoctor);
    const catalogue = new Catalogue([...stored, ...reportResources(this.#reports, tasks, this.#reportFeed, kdoctor), ...usageResources(bus, stored)]);
    const writes = new Writes(bus);
    const resources = new ResourceHandler(writes, { admit: (watch) => this.#admit(watch) });
    this.#podStreams = new OpenStreams(config.maxPodStreams);
    const pods = new PodHandler(bus, writes, this.#podStreams);
    const api = new Api({ catalogue, resources, pods, live: this.#live, version: productVersion, address: () => this.#url.replace(/^https?:\/\//, '') });
    this.#serve = (certificate) => new GatewayServer({ host: config.host, port: config.port, certificate, authenticate, answer: (exchange) => api.answer(exchange), upgrade: (upgrade) => api.upgrade(upgrade), health, metrics, log });
    health.add({ name: 'gateway/feed', problem: () => this.#feed.problem() });
    const watches = this.#watches;
    const live = this.#live;
    const podStreams = this.#podStreams;
    const open = new Gauge({
      name: 'roundsman_gateway_open_streams',
      help: 'Watches, live streams and streams to pods that are open',
      labelNames: ['stream'],
      registers: [metrics],
      collect: () => {
        open.set({ stream: 'watch' }, watches.size);
        open.set({ stream: 'live' }, live.clients);
        for (const stream of ['log', 'exec', 'attach', 'portforward']) open.set({ stream }, podStreams.count(stream));
      },
    });
    const feed = this.#feed;
    const gaps = new Gauge({
      name: 'roundsman_gateway_feed_events',
      help: 'What the change feed met since its start: holes read from the database, messages that came twice, watchers told to list again',
      labelNames: ['event'],
      registers: [metrics],
      collect: () => {
        for (const [event, count] of Object.entries(feed.counts)) gaps.set({ event }, count);
      },
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    const { config, log } = this.#context;
    const certificate = await serverCertificate(config, certificateNames(config));
    refuseOpenHttp(config.host, certificate, config.insecure);
    await this.#feed.start();
    await this.#live.start();
    await this.#reportFeed.start((report) => this.#live.reported(report));
    this.#server = this.#serve(certificate);
    const port = await this.#server.listen();
    const reachable = reachableHost(config.host);
    this.#url = config.publicUrl ?? `${certificate ? 'https' : 'http'}://${reachable}:${port}`;
    log.info({ url: this.#url }, 'listening');
    this.#listening({ port, url: this.#url, localUrl: `http://${reachable}:${port}`, certificateAuthority: certificate?.ca });
  }

  async onApplicationShutdown(): Promise<void> {
    for (const watch of this.#watches) watch.end();
    await this.#live.stop();
    this.#podStreams.abortAll();
    await this.#server?.close();
    await this.#reportFeed.stop();
    await this.#feed.stop();
    this.#context.health.remove('gateway/feed');
    await this.#reports.close();
    await this.#store.close();
  }

  #admit(watch: Watch): () => void {
    const { maxWatches } = this.#context.config;
    if (this.#watches.size >= maxWatches) throw new ApiError('TooManyRequests', `${maxWatches} watches are open, which is the limit; close one`);
    this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }
}

/** An address to connect to, when listening on all of them; IPv6 in brackets. */
const reachableHost = (host: string): string => {
  const one = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return one.includes(':') ? `[${one}]` : one;
};

/** What clients may call us. */
function certificateNames({ host, publicUrl }: GatewayConfig): string[] {
  const names = ['localhost', '127.0.0.1', '::1', hostname()];
  if (host !== '0.0.0.0' && host !== '::') names.push(host);
  if (publicUrl !== undefined) names.push(new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''));
  return names;
}

@Module({})
export class GatewayModule {
  static register(context: ServiceContext<GatewayConfig>, listening: (where: Listening) => void): DynamicModule {
    return {
      module: GatewayModule,
      providers: [{ provide: CONTEXT, useValue: context }, { provide: LISTENING, useValue: listening }, Gateway],
    };
  }
}
