import { isIPv4 } from 'node:net';
import { nodeSandboxUid, type Owner, type PodRuntime, type SandboxNetwork } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';
import { here, ip, ipAnyhow, runSteps, sysctl } from '../kernel/steps.ts';
import { refuseStrays, strays } from '../wiring/node-link.ts';
import type { NodeAddressing, NodePlace } from './node-place.ts';

const onLoopback = (address: string): string => `${address}/${isIPv4(address) ? 32 : 128} dev lo`;

/** The machine is the node: its pods' links end in the agent's own namespace. */
export class MachinePlace implements NodePlace {
  readonly #runtime: PodRuntime;
  readonly #owner: Owner;
  #done: Pick<NodeAddressing, 'nodeAddresses' | 'podCIDRs'> = { nodeAddresses: [], podCIDRs: [] };

  constructor(runtime: PodRuntime, owner: Owner) {
    this.#runtime = runtime;
    this.#owner = owner;
  }

  async find(): Promise<NetworkNamespace> {
    // In case the node had a namespace of its own before.
    await this.#runtime.removePod(nodeSandboxUid(this.#owner));
    return here;
  }

  async ensure({ nodeAddresses, podCIDRs }: NodeAddressing): Promise<NetworkNamespace> {
    const gone = this.#done;
    if (gone.podCIDRs.join() !== podCIDRs.join()) {
      // Another node may have that range by now.
      await runSteps([{ in: here, script: ipAnyhow(...gone.nodeAddresses.map(onLoopback).map((address) => `addr del ${address}`), ...gone.podCIDRs.map(strays).map((route) => `route del ${route}`)) }]);
      await runSteps([{ in: here, script: [sysctl('ipv4/ip_forward', '1'), ip(...nodeAddresses.map((address) => `addr replace ${onLoopback(address)}`), ...refuseStrays(podCIDRs))].join('\n') }]);
      this.#done = { nodeAddresses, podCIDRs };
    }
    return here;
  }

  nodeAddresses(): readonly string[] {
    return [];
  }

  hostNetwork(): SandboxNetwork {
    return { kind: 'host' };
  }

  routes(): readonly string[] {
    return [];
  }
}
