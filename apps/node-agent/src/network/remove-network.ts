import { wiringLacks } from './choice.ts';
import { removeMachineNetwork } from './machine/remove.ts';

/**
 * Takes away what the network of a cluster has left on this machine beside its sandboxes, when the cluster or the machine's part in it is gone for good. Where this
 * process could not have made any, there is nothing. Throws KernelProblem.
 */
export async function removeNetwork(cluster: string): Promise<void> {
  if (wiringLacks() === undefined) await removeMachineNetwork(cluster);
}
