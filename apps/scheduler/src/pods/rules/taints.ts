import type { Taint, Toleration } from '@roundsman/api';

/** An empty key with Exists tolerates every key, an absent effect every effect. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return operator === 'Equal' && key !== '' && value === (taint.value ?? '');
}

export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] | undefined): boolean => (tolerations ?? []).some((toleration) => tolerates(toleration, taint));

/** The first taint that keeps the pod from being placed: those that only prefer are none. */
export const untoleratedTaint = (taints: readonly Taint[] | undefined, tolerations: readonly Toleration[] | undefined): Taint | undefined =>
  (taints ?? []).find((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations));

export const untoleratedText = ({ key, value }: Pick<Taint, 'key' | 'value'>): string => `node(s) had untolerated taint {${key}: ${value ?? ''}}`;
