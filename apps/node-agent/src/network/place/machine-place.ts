import { isIPv4 } from 'node:net';
import { nodeSandboxUid, type Owner, type PodRuntime, type SandboxNetwork } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';
import { here, ip, runSteps, sysctl } from '../kernel/steps.ts';
import { refuseStrays } from '../wiring/node-link.ts';
import type { NodeAddressing, NodePlace } from './node-place.ts';

/** The machine is the node: its pods' links end in the agent's own namespace. */
export class MachinePlace implements NodePlace {
  readonly #runtime: PodRuntime;
  readonly #owner: Owner;
  #done = '';

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
    const wanted = podCIDRs.join();
    if (this.#done !== wanted) {
      await runSteps([{ in: here, script: [sysctl('ipv4/ip_forward', '1'), ip(...nodeAddresses.map((address) => `addr replace ${address}/${isIPv4(address) ? 32 : 128} dev lo`), ...refuseStrays(podCIDRs))].join('\n') }]);
      this.#done = wanted;
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
