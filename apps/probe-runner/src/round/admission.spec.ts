import { describe, expect, it } from '@jest/globals';
import { Admission, OverCapacity } from './admission.ts';

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

  it('lets small ones pass a large one that waits, within a share of their own', async () => {
    const admission = new Admission(100, 10);
    const leave = await admission.enter(load(50), never);
    const large = admission.enter(load(100), never);
    const middling = admission.enter(load(11), never);
    const small = [admission.enter(load(4), never), admission.enter(load(4), never), admission.enter(load(4), never)];
    expect([await settled(large), await settled(middling)]).toEqual([false, false]);
    expect([await settled(small[0]!), await settled(small[1]!), await settled(small[2]!)]).toEqual([true, true, false]);
    (await small[0]!)();
    expect(await settled(small[2]!)).toBe(true);
    expect(admission.qps).toBe(58);
    // The large one needs all of the capacity, and gets it although small ones still run.
    leave();
    expect([await settled(large), await settled(middling)]).toEqual([true, false]);
    (await large)();
    expect(await settled(middling)).toBe(true);
  });

  it('lets neither end starve: a steady stream of small rounds holds up no large one', async () => {
    const admission = new Admission(100, 4);
    const first = await admission.enter(load(100), never);
    const large = admission.enter(load(100), never);
    let leaveSmall = await admission.enter(load(10), never);
    for (let i = 0; i < 20; i += 1) {
      const next = admission.enter(load(10), never);
      leaveSmall();
      leaveSmall = await next;
    }
    first();
    expect(await settled(large)).toBe(true);
  });

  it('refuses at once what could never run, and names the capacity', async () => {
    const admission = new Admission(100, 10);
    const refused = admission.enter(load(500), never);
    await expect(refused).rejects.toThrow(OverCapacity);
    await expect(refused).rejects.toThrow('the round asks for 500 requests per second over all its targets, the capacity of this runner is 100');
    expect(admission.waiting).toBe(0);
    expect(await settled(admission.enter(load(100), never))).toBe(true);
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
