import type { Taint } from './kinds/node/schema.ts';
import type { Toleration } from './kinds/pod/placement.ts';

/** An empty key with Exists tolerates every key, an absent effect every effect; what is not told of the operator is Equal. */
export function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
