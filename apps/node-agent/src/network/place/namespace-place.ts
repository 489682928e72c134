import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { nodeSandboxUid, RuntimeProblem, type Owner, type PodRuntime, type Sandbox, type SandboxNetwork } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';
import { here, ipAnyhow, namespaceOf, runSteps } from '../kernel/steps.ts';
import { nodeLinkSteps } from '../wiring/node-link.ts';
import type { NodeAddressing, NodePlace } from './node-place.ts';

/** Whether somebody has connected the namespace of a process. */
const isConnected = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/net/dev`, 'utf8').then(
    (text) => /^\s*eth0:/m.test(text),
    () => false,
  );

/** A node with a network namespace of its own, kept by a sandbox that outlives the agent; joined to the machine by a link. */
export class NamespacePlace implements NodePlace {
  readonly #runtime: PodRuntime;
  readonly #owner: Owner;
  /** Addresses that the machine has itself, not only those that others know it by. */
  readonly #machineAddresses: readonly string[];
  #sandbox: Sandbox | undefined;

  constructor(runtime: PodRuntime, owner: Owner, machineAddresses: readonly string[]) {
    this.#runtime = runtime;
    this.#owner = owner;
    this.#machineAddresses = machineAddresses;
  }

  async find(): Promise<NetworkNamespace | undefined> {
    const found = await this.#runtime.sandbox(nodeSandboxUid(this.#owner));
    this.#sandbox = found?.running === true ? found : undefined;
    return this.#sandbox?.pid === undefined ? undefined : namespaceOf(this.#sandbox.pid);
  }

  async ensure(addressing: NodeAddressing): Promise<NetworkNamespace> {
    const { node } = this.#owner;
    this.#sandbox = await this.#runtime.startSandbox({
      podUid: nodeSandboxUid(this.#owner),
      namespace: '',
      podName: node,
      hostname: node.slice(0, 63),
      network: { kind: 'none', addresses: addressing.nodeAddresses },
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      ports: [],
      extraHosts: [],
      sysctls: {},
    });
    const { pid } = this.#sandbox;
    if (pid === undefined) throw new RuntimeProblem('Sandbox', `the sandbox of node ${node} has ended as soon as it was started`);
    const link = { owner: this.#owner, pid, machineAddresses: this.#machineAddresses, ...addressing };
    // In case the machine was the node before.
    const moved = { in: here, script: ipAnyhow(...addressing.nodeAddresses.map((address) => `addr del ${address}/${isIPv4(address) ? 32 : 128} dev lo`)) };
    await runSteps([moved, ...nodeLinkSteps(link, await isConnected(pid))]);
    return namespaceOf(pid);
  }

  nodeAddresses(): readonly string[] {
    return this.#sandbox?.addresses ?? [];
  }

  hostNetwork(): SandboxNetwork | undefined {
    return this.#sandbox === undefined ? undefined : { kind: 'sandbox', id: this.#sandbox.id };
  }

  routes({ nodeAddresses, podCIDRs }: NodeAddressing): readonly string[] {
    return [...nodeAddresses.map((address) => `${address}/${isIPv4(address) ? 32 : 128}`), ...podCIDRs];
  }
}
