import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { NodeCondition } from '../machine.ts';
import { Clients } from './clients.ts';
import { DnsMetrics } from './metrics.ts';
import { Resolver, type Reply } from './resolver.ts';
import { DnsServer, type DnsHandler } from './server.ts';
import { Forwarder } from './upstream/forwarder.ts';
import { textOf, type Server } from './upstream/servers.ts';
import { Upstreams } from './upstream/upstreams.ts';
import { ClusterNames } from './zone/cluster-names.ts';

export interface NodeDnsOptions {
  readonly state: NetworkState;
  /** One per family, of the machine: pods and nodes must reach them. */
  readonly addresses: readonly string[];
  /** 0: any that is free, the same as the last time when possible. */
  readonly port: number;
  /** Instead of the machine's. */
  readonly upstreams: readonly string[];
  readonly ttlSeconds: number;
  /** Folder of the agent. */
  readonly dataDir: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics: Registry;
  /** The machine's, instead of the file itself. */
  readonly resolvConf?: () => Promise<string>;
}

const listenAgainMs = 1_000;

/** Answers DNS for one node. */
export class NodeDns implements DnsHandler {
  readonly #options: NodeDnsOptions;
  readonly #clients: Clients;
  readonly #names: ClusterNames;
  readonly #upstreams: Upstreams;
  readonly #forwarder: Forwarder;
  readonly #resolver: Resolver;
  readonly #metrics: DnsMetrics;
  #servers: readonly DnsServer[] = [];
  #problem: string | undefined = 'it was not started yet';
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: NodeDnsOptions) {
    const { state, addresses, ttlSeconds, upstreams, log, metrics, resolvConf } = options;
    this.#options = options;
    this.#clients = new Clients(state, addresses);
    this.#names = new ClusterNames(state, ttlSeconds);
    this.#upstreams = new Upstreams({ set: upstreams, own: () => this.#servers, clusterDns: () => state.network?.dnsAddresses ?? [], ...(resolvConf === undefined ? {} : { resolvConf }) });
    this.#forwarder = new Forwarder({
      servers: () => this.#upstreams.servers,
      onProblem: (server, problem) => log.warn({ server: textOf(server), problem }, 'an upstream DNS server is asked after the others for a while'),
    });
    this.#resolver = new Resolver(this.#names, this.#forwarder);
    this.#metrics = new DnsMetrics(metrics);
  }

  /** Resolves also when its port is taken: it is tried again, and `problem` says so. */
  async start(): Promise<void> {
    await this.#upstreams.start();
    await this.#listen();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#upstreams.stop();
    this.#names.close();
    this.#clients.close();
    await Promise.all(this.#servers.map((server) => server.stop()));
    this.#servers = [];
  }

  /** `10.0.0.1:10053`, one per family separated by commas; undefined while it answers nowhere. */
  get endpoint(): string | undefined {
    return this.#servers.length === 0 ? undefined : this.#servers.map(textOf).join(',');
  }

  /** Why names are not answered on this node; undefined when they are. */
  problem(): string | undefined {
    return this.#problem;
  }

  condition(): NodeCondition {
    return this.#problem === undefined
      ? { type: 'DNSAnswered', status: 'True', reason: 'DNSIsAnswered', message: `names of the cluster are answered at ${this.endpoint}` }
      : { type: 'DNSAnswered', status: 'False', reason: 'DNSIsNotAnswered', message: this.#problem };
  }

  admits(address: string): boolean {
    return this.#clients.admits(address);
  }

  reply(message: Buffer, channel: 'udp' | 'tcp'): Reply | Promise<Reply> | undefined {
    const begun = performance.now();
    const reply = this.#resolver.reply(message, channel);
    if (reply instanceof Promise) return reply.then((one) => this.#metrics.counted(one, begun));
    return reply === undefined ? undefined : this.#metrics.counted(reply, begun);
  }

  async #listen(): Promise<void> {
    const { addresses, port, log } = this.#options;
    const servers: DnsServer[] = [];
    try {
      if (addresses.length === 0) throw new Error('the machine has no address but loopback');
      const wished = await this.#lastPort();
      for (const address of addresses) servers.push(await DnsServer.listen(this, address, port, servers[0]?.port ?? wished));
      if (this.#stopped) return await close(servers);
      this.#servers = servers;
      this.#problem = undefined;
      await this.#rememberPort(servers[0]?.port).catch((error: unknown) => log.warn({ err: error }, 'the port of DNS cannot be remembered: after a restart it may be another one'));
      log.info({ endpoint: this.endpoint }, 'DNS is answered');
    } catch (error) {
      await close(servers);
      const problem = `DNS cannot be answered on ${addresses.join(', ')} port ${port === 0 ? '(any)' : port}: ${(error as Error).message}`;
      if (problem !== this.#problem) log.error({ err: error }, 'DNS cannot be answered on this node; trying again');
      this.#problem = problem;
      if (!this.#stopped) this.#timer = setTimeout(() => void this.#listen(), listenAgainMs).unref();
    }
  }

  get #portFile(): string {
    return join(this.#options.dataDir, 'dns-port');
  }

  /** The same after a restart: until everybody knows another one, names would be asked for where nobody is. */
  async #lastPort(): Promise<number> {
    const port = Number(await readFile(this.#portFile, 'utf8').catch(() => '0'));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
  }

  async #rememberPort(port: number | undefined): Promise<void> {
    if (port === undefined) return;
    await writeFile(this.#portFile, String(port));
  }
}

const close = async (servers: readonly (DnsServer & Server)[]): Promise<void> => void (await Promise.all(servers.map((server) => server.stop())));
