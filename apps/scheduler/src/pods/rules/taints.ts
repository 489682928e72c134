import { tolerates, type Taint, type Toleration } from '@roundsman/api';

export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] | undefined): boolean => (tolerations ?? []).some((toleration) => tolerates(toleration, taint));

/** The first taint that keeps the pod from being placed: those that only prefer are none. */
export const untoleratedTaint = (taints: readonly Taint[] | undefined, tolerations: readonly Toleration[] | undefined): Taint | undefined =>
  (taints ?? []).find((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations));

export const untoleratedText = ({ key, value }: Pick<Taint, 'key' | 'value'>): string => `node(s) had untolerated taint {${key}: ${value ?? ''}}`;
