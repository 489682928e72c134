import { isDeepStrictEqual } from 'node:util';
import type { ClusterNetwork } from '@roundsman/api';
import type { Owner } from '@roundsman/containers';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import { mtuOf } from '../addresses/machine-addresses.ts';
import { routeProtocol } from '../kernel/links.ts';
import { routedRanges } from '../kernel/route-table.ts';
import { here, ip, ipAnyhow, runSteps } from '../kernel/steps.ts';
import { openForwarding } from './forward-rules.ts';
import { letThrough } from './forwarding.ts';
import { masqueradeRules } from './masquerade.ts';
import { isOwnRoute, listedRoutes, type Route } from './own-routes.ts';
import { machineAddressesOf, remoteRanges, type RemoteRange } from './remote-ranges.ts';
import { makeVxlan, vxlanAddresses, vxlanAlias, vxlanBytes, vxlanName, vxlanRoutes, type VxlanDevice } from './vxlan.ts';

const checkEveryMs = 2_000;
/** Rules may be taken away by others: a firewall that is loaded anew, a Docker daemon that is started. */
const renewEveryMs = 30_000;

export interface MachineNetworkOptions {
  readonly owner: Owner;
  readonly state: NetworkState;
  /** Of this machine, one per family, as its nodes tell them. */
  readonly machineAddresses: readonly string[];
  readonly log: Logger;
}

interface Wanted {
  readonly network: Pick<ClusterNetwork, 'podCidrs' | 'serviceCidrs' | 'loadBalancerCidrs' | 'backend'>;
  readonly machines: readonly string[];
  readonly remotes: readonly RemoteRange[];
  readonly podCIDRs: readonly string[];
}

/** What a machine has of a cluster's network beside its nodes: forwarding, the ways to pods elsewhere, and masquerade of what leaves the cluster. */
export class MachineNetwork {
  readonly #options: MachineNetworkOptions;
  #done: Wanted | undefined;
  #problem: string | undefined;
  #working = false;
  #again = false;
  #work: Promise<void> = Promise.resolve();
  #ends: (() => void)[] = [];
  #stopped = false;

  constructor(options: MachineNetworkOptions) {
    this.#options = options;
  }

  /** What is not as it should be; undefined: all is. */
  problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    const { state } = this.#options;
    const timers = [setInterval(() => void this.#check(), checkEveryMs), setInterval(() => this.#renew(), renewEveryMs)];
    this.#ends = [
      state.onChange(({ resource }) => {
        if (resource === 'network' || resource === 'nodes') this.#sync();
      }),
      () => timers.forEach(clearInterval),
    ];
    this.#sync();
  }

  /** Everything stays as it is. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#ends) end();
    await this.#work;
  }

  #wanted(): Wanted | undefined {
    const { state, owner, machineAddresses } = this.#options;
    if (state.network === undefined) return undefined;
    const { podCidrs, serviceCidrs, loadBalancerCidrs, backend } = state.network;
    const nodes = state.nodes();
    return {
      network: { podCidrs, serviceCidrs, loadBalancerCidrs, backend },
      machines: [...new Set([...machineAddresses, ...nodes.flatMap(machineAddressesOf)])].toSorted(),
      remotes: remoteRanges(nodes, machineAddresses),
      podCIDRs: state.node(owner.node)?.podCIDRs ?? [],
    };
  }

  #renew(): void {
    this.#done = undefined;
    this.#sync();
  }

  #sync(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (this.#working) return;
    this.#working = true;
    this.#work = this.#syncAll();
  }

  async #syncAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const wanted = this.#wanted();
      if (wanted !== undefined && !isDeepStrictEqual(wanted, this.#done)) await this.#bringAbout(wanted);
    }
    this.#working = false;
  }

  async #bringAbout(wanted: Wanted): Promise<void> {
    const before = this.#problem;
    this.#problem = await this.#arrange(wanted).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (this.#problem === undefined) this.#done = wanted;
    else if (this.#problem !== before) this.#options.log.warn({ problem: this.#problem }, 'the network between machines is not as it should be');
  }

  async #arrange(wanted: Wanted): Promise<void> {
    const { cluster } = this.#options.owner;
    const { network, machines } = wanted;
    const rules = `nft -f - <<'NFT'\n${masqueradeRules(cluster, network, machines)}\nNFT`;
    await runSteps([{ in: here, script: [letThrough(network.podCidrs), rules, openForwarding(cluster, network.podCidrs)].join('\n') }]);
    if (network.backend === 'vxlan') await this.#byVxlan(wanted);
    else await this.#byRoutes(wanted);
  }

  async #byRoutes({ network, remotes }: Wanted): Promise<void> {
    const { cluster } = this.#options.owner;
    const stale = await this.#stale(network.podCidrs, ({ range, device }) => device !== vxlanName(cluster) && remotes.some((remote) => remote.range === range));
    await runSteps([{ in: here, script: ipAnyhow(`link del ${vxlanName(cluster)}`, ...stale) }]);
    // Each for itself: one machine that cannot be reached so keeps no other from it.
    const failed: string[] = [];
    for (const { range, machine } of remotes) {
      await runSteps([{ in: here, script: ip(`route replace ${range} via ${machine} proto ${routeProtocol}`) }]).catch((error: Error) => failed.push(`${range} via ${machine}: ${error.message}`));
    }
    if (failed.length > 0) throw new Error(`no route to the pods of other machines: ${failed.join(', ')}. Machines that are not on one link need VXLAN (roundsman up --network-backend vxlan)`);
  }

  async #byVxlan({ network, remotes, podCIDRs }: Wanted): Promise<void> {
    const { owner: { cluster }, machineAddresses } = this.#options;
    const [local] = machineAddresses;
    if (local === undefined) throw new Error('this machine has no address that others reach it by: set ROUNDSMAN_NODE_AGENT_ADDRESSES');
    const mtu = (await mtuOf(local)) - vxlanBytes[local.includes(':') ? 'IPv6' : 'IPv4'];
    const device: VxlanDevice = { cluster, local, mtu, podCIDRs };
    const there = await runSteps([{ in: here, script: `ip link show ${vxlanName(cluster)} 2>/dev/null || :` }]);
    const stale = await this.#stale(network.podCidrs, (route) => route.device === vxlanName(cluster) && remotes.some(({ range }) => range === route.range));
    await runSteps([
      { in: here, script: [ipAnyhow(...stale), there.includes(`alias ${vxlanAlias(device)}`) ? ':' : makeVxlan(device), vxlanAddresses(device), ...(remotes.length === 0 ? [] : [vxlanRoutes(device, remotes)])].join('\n') },
    ]);
  }

  /** Commands that remove routes to other machines that are not wanted any more. */
  async #stale(podCidrs: readonly string[], isWanted: (route: Route) => boolean): Promise<string[]> {
    const routes = await listedRoutes();
    return routes.filter((route) => isOwnRoute(route, podCidrs) && route.isWayElsewhere && !isWanted(route)).map(({ range, device }) => `route del ${range} dev ${device} proto ${routeProtocol}`);
  }

  /** Routes go with a link that is set down. And what failed is tried again. */
  async #check(): Promise<void> {
    if (this.#working || this.#stopped) return;
    const routed = await routedRanges();
    if (this.#problem !== undefined || this.#done?.remotes.some(({ range }) => !routed.has(range)) === true) this.#renew();
  }
}
