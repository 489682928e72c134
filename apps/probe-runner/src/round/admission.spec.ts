import { describe, expect, it } from '@jest/globals';
import { Admission } from './admission.ts';

const load = (qps: number, kind: 'NetReach' | 'NetDNS' = 'NetReach') => ({ kind, qps });
const never = new AbortController().signal;

/** Whether a promise is settled after everything that is due has run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let is = false;
  promise.then(
    () => (is = true),
    () => (is = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return is;
}

describe('admission', () => {
  it('lets rounds run up to the capacity and tells their load per kind', async () => {
    const admission = new Admission(100, 10);
    await admission.enter(load(60), never);
    const leave = await admission.enter(load(40, 'NetDNS'), never);
    expect(admission.loadByKind()).toEqual({ NetReach: 60, NetDNS: 40 });
    const third = admission.enter(load(1), never);
    expect(await settled(third)).toBe(false);
    leave();
    expect(await settled(third)).toBe(true);
    expect(admission.qps).toBe(61);
  });

  it('keeps the order: a small one does not overtake a large one that waits', async () => {
    const admission = new Admission(100, 10);
    const leave = await admission.enter(load(50), never);
    const large = admission.enter(load(80), never);
    const small = admission.enter(load(10), never);
    expect([await settled(large), await settled(small)]).toEqual([false, false]);
    leave();
    expect([await settled(large), await settled(small)]).toEqual([true, true]);
  });

  it('runs one that is larger than the capacity alone', async () => {
    const admission = new Admission(100, 10);
    const leave = await admission.enter(load(500), never);
    const next = admission.enter(load(1), never);
    expect(await settled(next)).toBe(false);
    leave();
    expect(await settled(next)).toBe(true);
  });

  it('bounds the number of rounds', async () => {
    const admission = new Admission(1e9, 2);
    await admission.enter(load(1), never);
    const leave = await admission.enter(load(1), never);
    const third = admission.enter(load(1), never);
    expect(await settled(third)).toBe(false);
    leave();
    expect(await settled(third)).toBe(true);
  });

  it('lets one go that no longer wants to wait, and those behind it move up', async () => {
    const admission = new Admission(100, 10);
    await admission.enter(load(90), never);
    const abort = new AbortController();
    const large = admission.enter(load(50), abort.signal);
    const small = admission.enter(load(5), never);
    abort.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect(await settled(small)).toBe(true);
    await expect(admission.enter(load(1), abort.signal)).rejects.toThrow('gone');
    expect(admission.waiting).toBe(0);
  });
});
