import { ServiceError } from '@roundsman/bus';
import type { Reconcile } from '@roundsman/reconcile';
import { NotLeading } from './objects.ts';

/** After the n-th conflict in a row a key waits min(longestMs, firstMs * 2^(n-1)): a cache that is behind is mostly so for a moment only. */
const firstMs = 20;
const longestMs = 5_000;

const isConflict = (error: unknown): boolean => error instanceof ServiceError && (error.body as { reason?: unknown } | undefined)?.reason === 'Conflict';

/** What was read has changed meanwhile: no failure, but a reason to read again. The end of the term is none either. */
export function expectably(reconcile: Reconcile): Reconcile {
  const conflicts = new Map<string, number>();
  return async (key) => {
    try {
      const outcome = await reconcile(key);
      conflicts.delete(key);
      return outcome;
    } catch (error) {
      if (error instanceof NotLeading) return undefined;
      if (!isConflict(error)) throw error;
      const before = conflicts.get(key) ?? 0;
      conflicts.set(key, before + 1);
      return { againAfterMs: Math.min(longestMs, firstMs * 2 ** Math.min(before, 30)) };
    }
  };
}
