import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { Forwarder } from './forwarder.ts';
import { forwardingTable } from './forwarding/forwarding-table.ts';
import type { ForwardingTable } from './forwarding/table.ts';
import type { HostPort, HostPorts, PublishedPort } from './host-ports.ts';
import { identityOf, type NetworkNamespace } from './network-namespace.ts';
import { NftProblem } from './nftables/nft.ts';
import { NftablesProxy } from './nftables/nftables-proxy.ts';
import { UserspaceProxy } from './userspace/userspace-proxy.ts';

export type ProxyMode = 'auto' | 'nftables' | 'userspace';

export interface ServiceProxyOptions {
  readonly cluster: string;
  readonly mode: ProxyMode;
  readonly state: NetworkState;
  /** Undefined while there is none. */
  readonly namespace: () => NetworkNamespace | undefined;
  /** Nodes whose endpoints are local here. */
  readonly localNodes: () => ReadonlySet<string>;
  /** For the control socket and the log of a forwarder in user space: `<folder>/<name>.sock`. */
  readonly folder: string;
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Told each table as it comes into effect. */
  readonly onTable?: (table: ForwardingTable) => void;
}

/** How Services are forwarded; `problem`: why they are not, or not all. */
export interface ProxyStatus {
  readonly by: 'nftables' | 'userspace' | undefined;
  readonly problem: string | undefined;
}

/** A burst of changes is one transaction; while they go on, half of the time is left to others. */
const gatherMs = 20;
const longestGatherMs = 300;
const retryAfterMs = 1_000;
const verifyEveryMs = 30_000;
/** Every how manieth look is at all of it: five minutes. */
const thoroughEvery = 10;
const releaseWithinMs = 5_000;
const steering: ReadonlySet<string> = new Set(['network', 'services', 'endpointslices.discovery.k8s.io', 'nodes']);

/** Which namespace it is, and how it is entered: by its identity alone a new one may pass for the one before, whose path leads nowhere any more. */
const placeOf = async (namespace: NetworkNamespace): Promise<string> => `${namespace.path} ${await identityOf(namespace)}`;

/** Keeps one network namespace forwarding as the state of the network says. What it has done stays when it stops. */
export class ServiceProxy implements HostPorts {
  readonly #options: ServiceProxyOptions;
  readonly #hostPorts = new Map<string, readonly HostPort[]>();
  /** Pods of which a predecessor's host ports are kept; undefined: of all, as it is not known yet which there are. */
  #there: ReadonlySet<string> | undefined;
  readonly #waiting = new Set<{ readonly resolve: () => void; readonly reject: (error: unknown) => void }>();
  #forwarder: Forwarder | undefined;
  #place: string | undefined;
  #status: ProxyStatus = { by: undefined, problem: 'the cluster has not told its Services yet' };
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #lastMs = 0;
  #verifier: NodeJS.Timeout | undefined;
  #looks = 0;
  #inEffect: ForwardingTable | undefined;
  #unfollow: () => void = () => undefined;
  #stopped = false;

  constructor(options: ServiceProxyOptions) {
    this.#options = options;
  }

  get status(): ProxyStatus {
    return this.#status;
  }

  start(): void {
    this.#unfollow = this.#options.state.onChange(({ resource }) => steering.has(resource) && this.wake());
    this.#verifier = setInterval(() => this.#verify(), verifyEveryMs).unref();
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unfollow();
    clearInterval(this.#verifier);
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    await this.#running;
    for (const { reject } of this.#waiting) reject(new Error('the agent is stopping'));
  }

  /** Takes back all that it, or one before it, has done here. */
  async remove(): Promise<void> {
    await this.stop();
    await (await this.#forwarderHere())?.remove();
  }

  publish(podUid: string, ports: readonly HostPort[]): Promise<void> {
    const before = this.#hostPorts.get(podUid) ?? [];
    const same = JSON.stringify(before) === JSON.stringify(ports);
    const idle = this.#running === undefined && this.#timer === undefined && this.#status.problem === undefined;
    if (same && (ports.length === 0 || idle)) return Promise.resolve();
    if (ports.length === 0) this.#hostPorts.delete(podUid);
    else this.#hostPorts.set(podUid, ports);
    return this.#effective();
  }

  release(podUid: string): Promise<void> {
    // What cannot be taken back now is tried again: the pod need not wait for it.
    const late = new Promise<void>((resolve) => setTimeout(resolve, releaseWithinMs).unref());
    return Promise.race([this.publish(podUid, []).catch(() => undefined), late]);
  }

  keepOnly(podUids: readonly string[]): Promise<void> {
    this.#there = new Set(podUids);
    for (const uid of this.#hostPorts.keys()) if (!this.#there.has(uid)) this.#hostPorts.delete(uid);
    this.wake();
    return Promise.resolve();
  }

  /** Something has changed, perhaps the namespace. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) this.#again = true;
    else this.#timer ??= setTimeout(() => this.#run(), Math.min(longestGatherMs, Math.max(gatherMs, this.#lastMs)));
  }

  #effective(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ resolve, reject });
      this.wake();
    });
  }

  #run(): void {
    this.#timer = undefined;
    const startedAt = performance.now();
    this.#running = this.#program().finally(() => {
      this.#lastMs = performance.now() - startedAt;
      this.#running = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.wake();
    });
  }

  async #program(): Promise<void> {
    const { state, localNodes, log, onTable } = this.#options;
    // Nothing is taken away before it is known what there is.
    if (state.network === undefined) return;
    const waiting = [...this.#waiting];
    try {
      const forwarder = await this.#forwarderHere();
      if (forwarder === undefined) return;
      for (const one of waiting) this.#waiting.delete(one);
      const table = forwardingTable(state, localNodes());
      const problems = await forwarder.apply(table, this.#published());
      this.#status = { ...this.#status, problem: problems.length === 0 ? undefined : problems.join('; ') };
      this.#inEffect = table;
      onTable?.(table);
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (this.#status.problem !== problem) log.warn({ err: error }, 'Services are not forwarded; trying again');
      this.#status = { ...this.#status, problem };
      for (const one of waiting) {
        this.#waiting.delete(one);
        one.reject(error);
      }
      // One only: else every change meanwhile would begin a row of tries of its own.
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.wake(), retryAfterMs).unref();
    }
  }

  #published(): PublishedPort[] {
    return [...this.#hostPorts].flatMap(([podUid, ports]) => ports.map((port) => ({ ...port, podUid })));
  }

  /** Another one when the namespace is another one. */
  async #forwarderHere(): Promise<Forwarder | undefined> {
    const namespace = this.#options.namespace();
    if (namespace === undefined) {
      this.#status = { by: undefined, problem: 'the node has no network yet' };
      return undefined;
    }
    const place = await placeOf(namespace);
    if (this.#forwarder !== undefined && this.#place === place) return this.#forwarder;
    const forwarder = await this.#chosen(namespace);
    const told = new Set(this.#hostPorts.keys());
    for (const { podUid, ...port } of await forwarder.hostPorts()) if (!told.has(podUid) && this.#there?.has(podUid) !== false) this.#hostPorts.set(podUid, [...(this.#hostPorts.get(podUid) ?? []), port]);
    this.#forwarder = forwarder;
    this.#place = place;
    return forwarder;
  }

  async #chosen(namespace: NetworkNamespace): Promise<Forwarder> {
    const { cluster, mode, folder, name, log } = this.#options;
    const inKernel = new NftablesProxy(cluster, namespace, log);
    const inUserSpace = new UserspaceProxy({ namespace, folder, name, log });
    // Of an agent before this one, which may have had another mode or fewer rights.
    const leave = (other: Forwarder): Promise<void> => other.remove().catch(() => undefined);
    const problem = mode === 'userspace' ? undefined : await inKernel.probe().then(() => undefined, (error: unknown) => error);
    // Too slow today is no reason to do without: what the kernel does is not undone for that.
    if (problem instanceof NftProblem && (problem.kind === 'interrupted' || problem.kind === 'gone')) throw problem;
    if (mode === 'userspace' || (mode === 'auto' && problem !== undefined)) {
      if (problem !== undefined) log.info({ why: problem instanceof NftProblem ? problem.message : String(problem) }, 'nftables cannot be used: Services are forwarded in user space');
      await leave(inKernel);
      this.#status = { by: 'userspace', problem: undefined };
      return inUserSpace;
    }
    if (problem !== undefined) throw problem;
    await leave(inUserSpace);
    this.#status = { by: 'nftables', problem: undefined };
    return inKernel;
  }

  #verify(): void {
    if (this.#running !== undefined || this.#timer !== undefined) return;
    const { log } = this.#options;
    this.#running = this.#look()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the rules of Services could not be looked at');
        return false;
      })
      .then((well) => {
        this.#running = undefined;
        const again = this.#again || !well;
        this.#again = false;
        if (again) this.wake();
      });
  }

  /** Whether nothing is to be done but wait: all is served where the node is now. */
  async #look(): Promise<boolean> {
    const { namespace, onTable } = this.#options;
    const [place, forwarder] = [namespace(), this.#forwarder];
    if (place === undefined || forwarder === undefined || (await placeOf(place)) !== this.#place) return false;
    await forwarder.verify(this.#looks++ % thoroughEvery === 0);
    if (this.#inEffect !== undefined) onTable?.(this.#inEffect);
    // The forwarder in user space tries again to have what it could not, and looks for addresses that the node has got.
    return this.#status.problem === undefined && this.#status.by === 'nftables';
  }
}
