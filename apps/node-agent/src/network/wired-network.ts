import { nodeNetworkAnnotations, type ClusterNetwork, type Pod } from '@roundsman/api';
import { nodeSandboxUid, RuntimeProblem, type Owner, type PodOnRuntime, type PodRuntime, type Sandbox, type SandboxNetwork } from '@roundsman/containers';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { HostPorts } from '../services/host-ports.ts';
import type { NetworkNamespace } from '../services/network-namespace.ts';
import { AddressPool, nodeAddressIn } from './addresses/address-pool.ts';
import { mtuOf } from './addresses/machine-addresses.ts';
import { noRange, unknownYet } from './docker-network.ts';
import { hostPortsOf, refuseTaken } from './host-ports.ts';
import { ownedLinks } from './kernel/links.ts';
import { routedRanges } from './kernel/route-table.ts';
import { here, ipAnyhow, runSteps } from './kernel/steps.ts';
import type { NodeNetwork } from './node-network.ts';
import { vxlanBytes } from './machine/vxlan.ts';
import type { NodeAddressing, NodePlace } from './place/node-place.ts';
import { NetworkNotReady, Readiness } from './readiness.ts';
import { podLinkName, podLinkSteps } from './wiring/pod-link.ts';

const checkEveryMs = 2_000;

export interface WiredNetworkOptions {
  readonly mode: 'machine' | 'namespace';
  readonly owner: Owner;
  readonly runtime: PodRuntime;
  readonly state: NetworkState;
  readonly place: NodePlace;
  /** Of the machine, one per family. */
  readonly machineAddresses: readonly string[];
  /** What it needs and this machine does not have: then it does nothing, and says so. */
  readonly lacking: string | undefined;
  readonly log: Logger;
}

/** Pods wired by veth pairs to the node's network namespace, which is the agent's own or one that the node keeps. */
export class WiredNetwork implements NodeNetwork {
  readonly #options: WiredNetworkOptions;
  readonly #pool = new AddressPool();
  readonly #ready = new Readiness(unknownYet);
  /** Sandboxes that run and have addresses, by pod: what is to be connected. */
  readonly #sandboxes = new Map<string, Pick<Sandbox, 'id' | 'addresses'>>();
  #before = new Map<string, readonly string[]>();
  #place: NetworkNamespace | undefined;
  #addressing: NodeAddressing | undefined;
  #adopted = false;
  /** The node has other ranges than before, and who has addresses of those was not told yet. */
  #moved = false;
  #hostPorts: HostPorts | undefined;
  #working: Promise<void> = Promise.resolve();
  #waiting = false;
  #ends: (() => void)[] = [];
  #stopped = false;

  constructor(options: WiredNetworkOptions) {
    this.#options = options;
  }

  get mode(): 'machine' | 'namespace' {
    return this.#options.mode;
  }
  get place(): NetworkNamespace | undefined {
    return this.#place;
  }
  get nodeAddresses(): readonly string[] {
    const { mode, machineAddresses, place } = this.#options;
    const own = this.#addressing?.nodeAddresses ?? place.nodeAddresses();
    return mode === 'machine' ? (machineAddresses.length > 0 ? machineAddresses : own) : own.length > 0 ? own : machineAddresses;
  }
  get annotations(): Readonly<Record<string, string>> {
    const { mode, machineAddresses } = this.#options;
    return { [nodeNetworkAnnotations.mode]: mode, ...(machineAddresses.length === 0 ? {} : { [nodeNetworkAnnotations.machine]: machineAddresses.join(',') }) };
  }

  publishBy(hostPorts: HostPorts): void {
    this.#hostPorts = hostPorts;
  }

  problem(): string | undefined {
    return this.#ready.problem;
  }
  onReady(listener: () => void): () => void {
    return this.#ready.onReady(listener);
  }

  async start(): Promise<void> {
    const { state, runtime, owner, lacking } = this.#options;
    if (lacking !== undefined) return this.#ready.set(lacking);
    this.#ends = [
      state.onChange((change) => {
        if (change.resource === 'network' || (change.resource === 'nodes' && change.object.name === owner.node)) this.#sync();
      }),
      runtime.watch(({ podUid, type }) => {
        if (podUid === nodeSandboxUid(owner) && type === 'ended') this.#sync();
      }),
    ];
    const timer = setInterval(() => void this.#check(), checkEveryMs);
    this.#ends.push(() => clearInterval(timer));
    this.#sync();
  }

  /** Everything stays as it is. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#ends) end();
    await this.#working;
  }

  async adopt(pods: readonly PodOnRuntime[]): Promise<void> {
    for (const { podUid, sandbox } of pods) {
      if (sandbox?.network?.kind !== 'none') continue;
      if (!sandbox.running) this.#before.set(podUid, sandbox.addresses);
      else if (this.#pool.claim(podUid, sandbox.addresses)) this.#sandboxes.set(podUid, sandbox);
      else this.#options.log.warn({ pod: podUid, addresses: sandbox.addresses }, 'two sandboxes have the same address: one of them is made anew');
    }
    if (this.#options.lacking !== undefined) return;
    this.#place = await this.#options.place.find();
    this.#adopted = true;
    await this.#hostPorts?.keepOnly([...this.#sandboxes.keys()]);
    await this.#inTurn(async () => {
      if (this.#place !== undefined) await this.#repair();
    });
    this.#sync();
  }

  fits(pod: Pod, { podUid, network, addresses }: Sandbox): boolean {
    if (pod.spec.hostNetwork === true) return JSON.stringify(network) === JSON.stringify(this.#options.place.hostNetwork());
    return network?.kind === 'none' && addresses.length > 0 && this.#pool.keeps(podUid, addresses);
  }

  async plan(pod: Pod): Promise<SandboxNetwork> {
    if (pod.spec.hostNetwork === true) {
      if (this.#options.place.hostNetwork() === undefined) await this.#ready.wait();
      const network = this.#options.place.hostNetwork();
      if (network === undefined) throw new NetworkNotReady('the node has no network of its own yet');
      return network;
    }
    await this.#ready.wait();
    const { uid } = pod.metadata;
    const addresses = this.#pool.take(uid, this.#before.get(uid));
    this.#before.delete(uid);
    await this.#lookForPorts(pod, addresses);
    return { kind: 'none', addresses };
  }

  async connect(pod: Pod, sandbox: Sandbox): Promise<readonly string[]> {
    if (pod.spec.hostNetwork === true) return this.nodeAddresses;
    const { id, podUid, addresses } = sandbox;
    this.#sandboxes.set(podUid, { id, addresses });
    await this.#wire(podUid, sandbox.pid, addresses);
    const ports = hostPortsOf(pod, addresses);
    if (ports.length > 0) await this.#hostPorts?.publish(podUid, ports);
    return addresses;
  }

  /** Before anything is made for the pod. */
  async #lookForPorts(pod: Pod, addresses: readonly string[]): Promise<void> {
    const ports = hostPortsOf(pod, addresses);
    if (ports.length === 0) return;
    if (this.#hostPorts === undefined) throw new RuntimeProblem('Sandbox', 'nothing on this node publishes host ports');
    // Its own, of a sandbox that it had before, are not in its way.
    await this.#hostPorts.release(pod.metadata.uid);
    await refuseTaken(ports, this.#place);
  }

  async release(podUid: string): Promise<void> {
    this.#before.delete(podUid);
    const had = this.#sandboxes.delete(podUid);
    await this.#hostPorts?.release(podUid);
    // Else the kernel takes the link away with the pod's namespace a moment later: the address may be somebody else's by then.
    if (had && this.#place !== undefined) await runSteps([{ in: this.#place, script: ipAnyhow(`link del ${podLinkName(this.#options.owner, podUid)}`) }]);
    this.#pool.release(podUid);
  }

  async #wire(podUid: string, pid: number | undefined, addresses: readonly string[]): Promise<void> {
    const { owner } = this.#options;
    if (pid === undefined || this.#place === undefined) throw new RuntimeProblem('Sandbox', 'the sandbox of the pod has ended');
    const { mtu = await this.#mtu(), nodeAddresses = this.#options.place.nodeAddresses() } = this.#addressing ?? {};
    await runSteps(podLinkSteps({ owner, podUid, pid, addresses, place: this.#place, nodeAddresses, mtu }));
  }

  /** Connects sandboxes that run and are not connected (any more), and removes links of pods that are not there. */
  async #repair(): Promise<void> {
    const { runtime, owner, log } = this.#options;
    const links = (await ownedLinks(this.#place ?? here)).filter(({ cluster, node, end }) => cluster === owner.cluster && node === owner.node && end !== 'node');
    const connected = new Set(links.map(({ end }) => end));
    for (const [podUid, { id }] of this.#sandboxes) {
      if (connected.has(podUid)) continue;
      const pid = (await runtime.inspect(id))?.pid;
      if (pid === undefined) continue;
      log.info({ pod: podUid }, 'a pod is connected to the network again');
      await this.#wire(podUid, pid, this.#pool.of(podUid)).catch((error: unknown) => log.warn({ err: error, pod: podUid }, 'a pod cannot be connected to the network again'));
    }
    const stale = links.filter(({ end }) => !this.#sandboxes.has(end));
    if (stale.length > 0) await runSteps([{ in: this.#place ?? here, script: ipAnyhow(...stale.map(({ name }) => `link del ${name}`)) }]);
  }

  /** Brings the node's place to what the cluster says; asked for again while it works, it works once more. */
  #sync(): void {
    if (this.#waiting || this.#stopped || !this.#adopted) return;
    this.#waiting = true;
    void this.#inTurn(async () => {
      this.#waiting = false;
      if (this.#stopped) return;
      const before = { problem: this.#ready.problem, place: this.#place?.path };
      const problem = await this.#arrange().catch((error: Error) => error.message);
      if (problem !== undefined && problem !== before.problem) this.#options.log.warn({ problem }, 'pods cannot be connected to the network now');
      this.#ready.set(problem, { renewed: this.#moved || this.#place?.path !== before.place });
      if (problem === undefined) this.#moved = false;
    });
  }

  async #arrange(): Promise<string | undefined> {
    const { state, owner, place } = this.#options;
    const { network } = state;
    const podCIDRs = state.node(owner.node)?.podCIDRs ?? [];
    const missing = noRange(state, owner.node);
    if (missing !== undefined) return missing;
    const addressing: NodeAddressing = { nodeAddresses: podCIDRs.map(nodeAddressIn), podCIDRs, mtu: await this.#mtu(network) };
    const path = this.#place?.path;
    this.#place = await place.ensure(addressing);
    this.#addressing = addressing;
    if (this.#pool.use(podCIDRs)) this.#moved = true;
    if (this.#place.path !== path) await this.#repair();
    return undefined;
  }

  async #mtu(network: ClusterNetwork | undefined = this.#options.state.network): Promise<number> {
    const [machine] = this.#options.machineAddresses;
    const overhead = network?.backend === 'vxlan' ? vxlanBytes[machine?.includes(':') === true ? 'IPv6' : 'IPv4'] : 0;
    return (await mtuOf(machine)) - overhead;
  }

  /** Routes go with a link that is set down; when it is up again somebody has to bring them back. And what failed is tried again. */
  async #check(): Promise<void> {
    if (!this.#adopted || this.#waiting) return;
    if (this.#ready.problem !== undefined) return this.#sync();
    const addressing = this.#addressing;
    const wanted = addressing === undefined ? [] : this.#options.place.routes(addressing);
    if (wanted.length === 0) return;
    const routed = await routedRanges();
    if (wanted.some((range) => !routed.has(range))) await this.#inTurn(() => this.#bringBack());
  }

  async #bringBack(): Promise<void> {
    const { place } = this.#options;
    if (this.#addressing === undefined || this.#stopped) return;
    // While the link is down there is no way to go.
    await place.ensure(this.#addressing).catch(() => undefined);
  }

  /** One after the other: two at once would undo each other's work. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#working.then(work);
    this.#working = done.catch((error: unknown) => this.#options.log.error({ err: error }, 'the network of the node could not be arranged'));
    return done;
  }
}

