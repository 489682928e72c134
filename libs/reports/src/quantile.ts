import type { Distribution } from '@roundsman/api';
import { valueOf } from '@roundsman/measure';

/** By nearest rank over the non-empty buckets only: reports hold thousands of small histograms. */
export function quantile({ b, c }: Distribution['histogram'], q: number): number | undefined {
  let total = 0;
  for (const count of c) total += count;
  if (total === 0) return undefined;
  const rank = Math.max(1, Math.ceil(q * total));
  let seen = 0;
  for (let i = 0; i < b.length; i++) {
    seen += c[i]!;
    if (seen >= rank) return valueOf(b[i]!);
  }
  return undefined;
}
