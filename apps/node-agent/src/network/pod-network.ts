import type { Pod } from '@roundsman/api';
import type { PodOnRuntime, Sandbox, SandboxNetwork } from '@roundsman/containers';

/**
 * Gives the pods of one node their addresses and connects them. What it must know after a restart is on the sandboxes (their addresses) and in the kernel;
 * every method may be called again.
 */
export interface PodNetwork {
  /** Why no pod can be connected now (no pod CIDR yet, a missing privilege and what to do about it); undefined: they can. */
  problem(): string | undefined;
  /** Called whenever they can be again, and when the node's addresses are others: what fitted may not any more. The answer ends it. */
  onReady(listener: () => void): () => void;
  /** Of the node, one per family: those of pods on its own network, too. */
  readonly nodeAddresses: readonly string[];
  /** Why pods cannot reach the DNS of the cluster at its address; undefined: they can. */
  readonly lacksClusterDns?: string | undefined;

  /** All there is on the machine, before anything else is asked: its addresses are in use, what is not connected any more is connected again, what nobody has is removed. */
  adopt(pods: readonly PodOnRuntime[]): Promise<void>;
  /** Whether a sandbox that runs is connected as the pod's is to be: not when its addresses are of a range that is not the node's any more. */
  fits(pod: Pod, sandbox: Sandbox): boolean;
  /** How the pod's sandbox is to be made; takes its addresses. Throws with a reason a person can act on: none is free. */
  plan(pod: Pod): Promise<SandboxNetwork>;
  /** Connects a sandbox that runs, publishes the pod's host ports, and gives back the pod's addresses, one per family (the node's for pods on its own network). */
  connect(pod: Pod, sandbox: Sandbox): Promise<readonly string[]>;
  /** The sandbox is gone, or will be: its addresses, links and host ports are free. Also when it never had any. */
  release(podUid: string): Promise<void>;
}
