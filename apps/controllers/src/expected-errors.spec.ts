import { describe, expect, it } from '@jest/globals';
import { ServiceError } from '@roundsman/bus';
import { expectably } from './expected-errors.ts';
import { NotLeading } from './objects.ts';

describe('what goes wrong as is to be expected', () => {
  const conflict = new ServiceError(409, 'the object has been modified', { reason: 'Conflict' });
  const outcomes = async (...errors: (Error | undefined)[]): Promise<unknown[]> => {
    const left = [...errors];
    const reconcile = expectably(async () => {
      const error = left.shift();
      if (error !== undefined) throw error;
      return { againAfterMs: 60_000 };
    });
    const all: unknown[] = [];
    for (const _ of errors) all.push(await reconcile('key'));
    return all;
  };

  it('is a conflict: it is looked at again soon, and ever later while it stays', async () => {
    const waits = await outcomes(conflict, conflict, conflict, undefined, conflict);
    expect(waits).toEqual([20, 40, 80, 60_000, 20].map((againAfterMs) => ({ againAfterMs })));
    expect((await outcomes(...Array.from({ length: 40 }, () => conflict))).at(-1)).toEqual({ againAfterMs: 5_000 });
  });

  it('is the end of the term; nothing else', async () => {
    expect(await outcomes(new NotLeading())).toEqual([undefined]);
    await expect(outcomes(new ServiceError(409, 'exists', { reason: 'AlreadyExists' }))).rejects.toThrow('exists');
  });
});
