import { nodeNetworkAnnotations } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { NodeCondition } from '../machine.ts';
import type { ForwardingTable } from './forwarding/table.ts';
import { HealthChecks } from './health-checks.ts';
import type { HostPorts } from './host-ports.ts';
import { AnnouncedAddresses } from './load-balancer/announced-addresses.ts';
import { LoadBalancers } from './load-balancer/load-balancers.ts';
import { LocalNodePorts } from './local-node-ports.ts';
import { machineNamespace, type NetworkNamespace } from './network-namespace.ts';
import { noHostPorts } from './no-host-ports.ts';
import { ServiceProxy, type ProxyMode } from './service-proxy.ts';

export interface NodeForwardingOptions {
  readonly cluster: string;
  readonly node: string;
  readonly mode: ProxyMode | 'off';
  readonly state: NetworkState;
  /** What the node's pods are wired to. */
  readonly network: 'machine' | 'namespace' | 'docker';
  /** The node's namespace; undefined while it has none. */
  readonly place: () => NetworkNamespace | undefined;
  /** Calls whenever the namespace is there again, perhaps another one. The answer ends it. */
  readonly onPlace: (listener: () => void) => () => void;
  /** Whether this agent keeps what belongs to the machine. */
  readonly machine: boolean;
  readonly folder: string;
  readonly log: Logger;
}

/** Of the node's proxy, and of the machine's. */
export const proxyNames = ['services', 'machine-services'] as const;

/** All forwarding that one agent keeps: the Services and host ports of its node, and, on one agent of each machine, the Services of the machine itself and of its load balancer addresses. */
export class NodeForwarding {
  readonly #options: NodeForwardingOptions;
  readonly #proxies: readonly ServiceProxy[];
  readonly #health: HealthChecks;
  readonly #localPorts: LocalNodePorts;
  readonly #loadBalancers: LoadBalancers | undefined;
  readonly hostPorts: HostPorts;
  #unfollow: () => void = () => undefined;

  constructor(options: NodeForwardingOptions) {
    this.#options = options;
    const { cluster, node, mode, state, network, place, machine, folder, log } = options;
    this.#health = new HealthChecks(log);
    this.#localPorts = new LocalNodePorts(log);
    const nodesHere = (): ReadonlySet<string> => nodesOfMachine(state, node);
    // Load balancers outside know machines, so machines tell them where endpoints are.
    const onMachine = { namespace: () => machineNamespace, localNodes: nodesHere, onTable: (table: ForwardingTable) => this.#serveMachine(table) };
    const proxy = (name: (typeof proxyNames)[number], where: Pick<ConstructorParameters<typeof ServiceProxy>[0], 'namespace' | 'localNodes' | 'onTable'>): ServiceProxy[] =>
      mode === 'off' ? [] : [new ServiceProxy({ cluster, mode, state, folder, name, log, ...where })];
    const ofNode = network === 'docker' ? [] : proxy('services', network === 'machine' ? onMachine : { namespace: place, localNodes: () => new Set([node]) });
    this.#proxies = [...ofNode, ...(machine && network !== 'machine' ? proxy('machine-services', onMachine) : [])];
    this.hostPorts = ofNode[0] ?? noHostPorts;
    this.#loadBalancers = machine && mode !== 'off' ? new LoadBalancers(state, nodesHere, new AnnouncedAddresses(cluster, machineNamespace, log)) : undefined;
  }

  start(): void {
    this.#unfollow = this.#options.onPlace(() => this.#proxies.forEach((proxy) => proxy.wake()));
    for (const proxy of this.#proxies) proxy.start();
    this.#loadBalancers?.start();
  }

  /** Everything goes on being forwarded as it is. */
  async stop(): Promise<void> {
    this.#unfollow();
    this.#health.stop();
    this.#localPorts.stop();
    await Promise.all([this.#loadBalancers?.stop(), ...this.#proxies.map((proxy) => proxy.stop())]);
  }

  annotations(): Record<string, string> {
    const by = this.#by();
    return by === undefined ? {} : { [nodeNetworkAnnotations.proxy]: by };
  }

  condition(): NodeCondition {
    const { mode } = this.#options;
    if (mode === 'off') return { type: 'ServicesForwarded', status: 'False', reason: 'SwitchedOff', message: 'this agent forwards no Services (ROUNDSMAN_NODE_AGENT_SERVICE_PROXY=off)' };
    const problems = this.#proxies.flatMap(({ status }) => status.problem ?? []);
    const by = this.#by();
    if (problems.length > 0 || by === undefined) return { type: 'ServicesForwarded', status: 'False', reason: 'ForwardingIncomplete', message: problems.join('; ') || 'the agent that keeps this machine has not said yet that it forwards Services' };
    return by === 'nftables'
      ? { type: 'ServicesForwarded', status: 'True', reason: 'Nftables', message: 'the kernel forwards Services' }
      : { type: 'ServicesForwarded', status: 'True', reason: 'UserSpaceForwarder', message: 'a process forwards Services: pods see the address of this node instead of the client’s' };
  }

  /** What the agent answers by itself. The forwarder in user space has loopback, too; the machine's proxy is the last one. */
  #serveMachine(table: ForwardingTable): void {
    this.#health.serve(table.healthChecks);
    const inKernel = this.#proxies.at(-1)?.status.by === 'nftables';
    void this.#localPorts.serve(inKernel ? table : { ...table, ports: [] });
  }

  /** Pods on a network of Docker's are served by the agent that keeps the machine: what that one says holds for all. */
  #by(): string | undefined {
    const { state, node } = this.#options;
    if (this.#proxies.length > 0) return this.#proxies[0]?.status.by;
    return [...nodesOfMachine(state, node)].flatMap((name) => state.node(name)?.annotations[nodeNetworkAnnotations.proxy] ?? [])[0];
  }
}

/** Those that say the same address of their machine; at least the node itself. */
function nodesOfMachine(state: NetworkState, node: string): ReadonlySet<string> {
  const machine = state.node(node)?.annotations[nodeNetworkAnnotations.machine];
  const others = machine === undefined ? [] : state.nodes().filter(({ annotations }) => annotations[nodeNetworkAnnotations.machine] === machine);
  return new Set([node, ...others.map(({ name }) => name)]);
}
