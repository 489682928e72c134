import { describe, expect, it } from '@jest/globals';
import { ApiError, compilePolicy } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import { admit } from './admission/admit.ts';
import type { WriteRequest } from './admission/outcome.ts';
import { books } from './testing/addresses.ts';
import { GroupCommit, largestBatch, largestBatchBytes, largestQueueBytes } from './group-commit.ts';
import { State } from './state.ts';

const resource = 'configmaps';
const create = (name: string): WriteRequest => ({ operation: 'create', resource, namespace: 'default', fieldValidation: 'Strict', dryRun: false, object: { metadata: { name }, data: { a: 'b' } } });
const update = (name: string, a: string, resourceVersion?: string): WriteRequest => ({ ...create(name), operation: 'update', name, object: { metadata: { name, ...(resourceVersion && { resourceVersion }) }, data: { a } } });

/** A disk whose every flush is ended by the test. */
function setUp() {
  const state = new State({
    head: 10,
    objects: [{ resource: 'namespaces', namespace: '', name: 'default', object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default', uid: 'u', resourceVersion: '10', generation: 1, creationTimestamp: 't' }, spec: {} } }],
    lastOfResource: new Map([['namespaces', 10]]),
  });
  const flushes: { changes: readonly Change[]; done: () => void; fail: () => void }[] = [];
  const announced: Change[] = [];
  let failed: Error | undefined;
  const waiting: (() => void)[] = [];
  const group = new GroupCommit(state, {
    admit: (write) => admit(write, { admitted: (...where) => state.admitted(...where), list: (of) => state.admittedList(of), limits: { maxBodyBytes: 1, maxQpsPerRunner: 1, maxRequestsPerRound: 1 }, policy: compilePolicy(), now: 0, ...books() }),
    commit: (changes) =>
      new Promise((resolve, reject) => {
        flushes.push({ changes, done: resolve, fail: () => reject(new Error('the disk is gone')) });
        waiting.shift()?.();
      }),
    committed: (changes) => void announced.push(...changes),
    settled: () => undefined,
    failed: (error) => void (failed = error),
  });
  return {
    state, group, flushes, announced,
    failure: () => failed,
    flush: async (index: number) => {
      if (flushes[index] === undefined) await new Promise<void>((resolve) => waiting.push(resolve));
      return flushes[index]!;
    },
  };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const settledYet = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  void promise.catch(() => undefined).finally(() => (settled = true));
  await turn();
  await turn();
  return settled;
};

describe('group commit', () => {
  it('puts what arrives together into one transaction, and answers after it', async () => {
    const { group, flush, announced, state } = setUp();
    const replies = Promise.all([group.submit(create('a')), group.submit(create('b')), group.submit(update('a', 'c'))]);
    const { changes, done } = await flush(0);
    expect(changes.map(({ version, type, name, previousOfResource }) => [version, type, name, previousOfResource])).toEqual([[11, 'ADDED', 'a', 0], [12, 'ADDED', 'b', 11], [13, 'MODIFIED', 'a', 12]]);
    expect(await settledYet(replies)).toBe(false);
    expect(state.get(resource, 'default', 'a')).toBeUndefined();
    done();
    expect((await replies).map(({ object }) => object.metadata.resourceVersion)).toEqual(['11', '12', '13']);
    expect(announced).toEqual(changes);
    expect(state.get(resource, 'default', 'a')).toHaveProperty('data.a', 'c');
  });
  it('judges the next writes against what is on its way, and keeps their answers until then', async () => {
    const { group, flush } = setUp();
    const first = group.submit(create('a'));
    const one = await flush(0);
    const twice = group.submit(create('a'));
    const stale = group.submit(update('a', 'c', '10'));
    const fresh = group.submit(update('a', 'c', '11'));
    expect(await settledYet(twice)).toBe(false);
    one.done();
    await first;
    const two = await flush(1);
    expect(two.changes.map(({ version }) => version)).toEqual([12]);
    two.done();
    await expect(twice).rejects.toMatchObject({ status: { reason: 'AlreadyExists' } });
    await expect(stale).rejects.toMatchObject({ status: { reason: 'Conflict' } });
    expect((await fresh).object.metadata.resourceVersion).toBe('12');
  });
  it('accepts nothing of what depended on a transaction that failed, and nothing afterwards', async () => {
    const { group, flush, announced, failure, flushes } = setUp();
    const first = group.submit(create('a'));
    const one = await flush(0);
    const second = group.submit(create('b'));
    const refused = group.submit(create('a'));
    await turn();
    one.fail();
    for (const write of [first, second, refused]) await expect(write).rejects.toMatchObject({ status: { reason: 'ServiceUnavailable' } });
    expect(failure()?.message).toBe('the disk is gone');
    await expect(group.submit(create('c'))).rejects.toMatchObject({ code: 503 });
    expect(announced).toEqual([]);
    expect(flushes).toHaveLength(1);
  });
  it('answers refusals without a transaction', async () => {
    const { group, flushes } = setUp();
    await expect(group.submit(update('none', 'x'))).rejects.toBeInstanceOf(ApiError);
    expect(flushes).toHaveLength(0);
  });
  it('makes no larger batch than allowed', async () => {
    const { group, flush } = setUp();
    const replies = Array.from({ length: largestBatch + 5 }, (_, index) => group.submit(create(`n${index}`)));
    const one = await flush(0);
    expect(one.changes).toHaveLength(largestBatch);
    one.done();
    const two = await flush(1);
    expect(two.changes.map(({ version }) => version)).toEqual([523, 524, 525, 526, 527]);
    two.done();
    await Promise.all(replies);
  });
  it('closes a batch by its bytes, deletions included, and bounds the bytes that wait', async () => {
    const { group, flush, state } = setUp();
    const megabyte = 'x'.repeat(1_000_000);
    const large = (index: number): WriteRequest => ({ ...create(`n${index}`), object: { metadata: { name: `n${index}` }, data: { a: megabyte } } });
    const count = Math.floor(largestQueueBytes / 1_000_100);
    const replies = Array.from({ length: count }, (_, index) => group.submit(large(index)));
    await expect(group.submit(large(count))).rejects.toMatchObject({ code: 503, status: { details: { retryAfterSeconds: 1 } } });
    const bytesOf = (changes: readonly Change[]): number => changes.reduce((sum, { object }) => sum + JSON.stringify(object).length, 0);
    const through = async (from: number, total: number): Promise<number> => {
      let next = from;
      for (let done = 0; done < total; next += 1) {
        const { changes, done: end } = await flush(next);
        expect(bytesOf(changes)).toBeLessThan(largestBatchBytes + 1_100_000);
        done += changes.length;
        end();
      }
      return next;
    };
    const next = await through(0, count);
    await Promise.all(replies);
    expect(next).toBeGreaterThanOrEqual(8);
    const gone = Array.from({ length: count }, (_, index) => group.submit({ ...create(''), operation: 'delete', name: `n${index}`, object: undefined }));
    const last = await through(next, count);
    await Promise.all(gone);
    expect(state.list(resource)).toEqual([]);
    // All that waited has gone: there is room again.
    const again = group.submit(large(0));
    await through(last, 1);
    await again;
  });
  it('when closed settles what is on its way and refuses the rest', async () => {
    const { group, flush } = setUp();
    const first = group.submit(create('a'));
    const one = await flush(0);
    const second = group.submit(create('b'));
    const closed = group.close('going');
    await expect(second).rejects.toMatchObject({ code: 503, message: 'going' });
    expect(await settledYet(closed)).toBe(false);
    one.done();
    await closed;
    expect((await first).object.metadata.resourceVersion).toBe('11');
  });
});
