import { parseQuantity } from '../../quantity.ts';
import type { PodSpec } from './spec.ts';
import type { PodStatus } from './status.ts';

const counted = ['cpu', 'memory'] as const;

/**
 * How the pod is treated when memory is short: Guaranteed when every container requests all the CPU and memory it may use,
 * BestEffort when none says anything about them, else Burstable.
 */
export function qosClassOf(spec: Pick<PodSpec, 'containers' | 'initContainers'>): NonNullable<PodStatus['qosClass']> {
  let said = false;
  let guaranteed = true;
  for (const { resources } of [...spec.containers, ...(spec.initContainers ?? [])]) {
    for (const resource of counted) {
      const limit = positive(resources.limits?.[resource]);
      const request = positive(resources.requests?.[resource]);
      if (limit !== undefined || request !== undefined) said = true;
      if (limit === undefined || (request ?? limit) !== limit) guaranteed = false;
    }
  }
  if (!said) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

function positive(quantity: string | undefined): number | undefined {
  const amount = quantity === undefined ? 0 : parseQuantity(quantity);
  return amount > 0 ? amount : undefined;
}
