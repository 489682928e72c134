import { describe, expect, it } from '@jest/globals';
import { httpTargetSchema } from '@roundsman/api';
import { compilePolicy } from '@roundsman/api/policy';
import { limitsFor } from './limits.ts';
import type { Prepared } from './probe.ts';
import { Resolution } from './resolution.ts';
import { pin } from './resolve.ts';
import { plannedRequests } from './round.ts';
import { dueAt, sendAll, type Schedule } from './sending.ts';
import { TargetRun } from './target-run.ts';
import { FakeLoop, type Stall } from './testing/fake-loop.ts';

interface World {
  readonly qps: number;
  /** From when on the name resolves, and to what; milliseconds. */
  readonly since?: number;
  readonly address?: string;
  /** How long a look-up takes that begins then. */
  readonly takesMs?: (now: number) => number;
  readonly targets?: number;
  readonly stalls?: readonly Stall[];
}

/** A round of 20 s at targets of one name that cannot be resolved when it begins. */
async function round({ qps, since = Number.POSITIVE_INFINITY, address = '10.0.0.1', takesMs = (now) => (now === 0 ? 30 : 100), targets = 1, stalls = [] }: World) {
  const loop = new FakeLoop(stalls);
  const budget = { qps, durationMs: 20_000, timeoutMs: 1_000 };
  const planned = plannedRequests(budget);
  const lookups: number[] = [];
  const reached: number[] = [];
  const find = (): Promise<{ address: string; family: number }> => {
    lookups.push(Math.round(loop.now));
    const { promise, resolve, reject } = Promise.withResolvers<{ address: string; family: number }>();
    loop.arrive(takesMs(loop.now), () => (loop.now >= since ? resolve({ address, family: 4 }) : reject(new Error(`no answer at ${Math.round(loop.now)}`))));
    return promise;
  };
  const resolution = new Resolution('late', () => pin('late', 80, undefined, compilePolicy(), find));
  const prepared: Prepared = {
    address: 'http://late/', method: 'GET', host: 'late', port: 80,
    open: (_pinned, { record }) => ({
      gathers: false, inFlight: 0, hasRoom: () => true, cancel: () => undefined, close: () => undefined,
      start: (intended, now) => (reached.push(now), record.success(intended, now)),
    }),
  };
  const runs = Array.from({ length: targets }, (_, i) => new TargetRun(httpTargetSchema.parse({ id: `t${i}`, layer: 'url', probe: 'http', url: 'http://late/' }), prepared, planned));
  await loop.run(async () => {
    await resolution.first(5_000, new AbortController().signal);
    const schedule: Schedule = { start: loop.now, durationMs: budget.durationMs, interval: 1000 / qps, planned, lanes: targets, over: Number.POSITIVE_INFINITY, timeoutMs: budget.timeoutMs };
    runs.forEach((run, lane) => run.begin(resolution.lead(run), (slot) => dueAt(schedule, lane, slot), budget.timeoutMs, limitsFor(budget, targets, 65_536)));
    await sendAll(runs, schedule, new AbortController().signal);
    resolution.stop();
  });
  return { results: runs.map((run) => run.result(0, {})), lookups, reached, endedAt: loop.now };
}

const counts = ({ results: [result] }: Awaited<ReturnType<typeof round>>) => ({ sent: result!.sent, unsent: result!.unsent, succeeded: result!.succeeded, errors: result!.errors });

describe('a name that does not resolve when the round begins', () => {
  it('fails each request when it is due, and is looked up again each second: requests go where it leads from then on', async () => {
    const met = await round({ qps: 5, since: 3_000 });
    // The schedule begins when the first look-up has failed, at 30 ms; the one at 3 s finds the address at 3.1 s.
    expect(met.lookups.map((at) => Math.floor(at / 1_000))).toEqual([0, 1, 2, 3]);
    expect(counts(met)).toEqual({ sent: 100, unsent: 0, succeeded: 84, errors: { unresolved: 16 } });
    expect(met.results[0]!.sendLag.maxUs).toBeLessThan(1_000);
    expect(met.results[0]!.phases.dns).toMatchObject({ count: 1 });
    expect(met.results[0]!.family).toBe('v4');
    expect(Math.min(...met.reached)).toBeGreaterThan(3_000);
  });

  it('lasts as long as its schedule when it never does, each failure with what its look-up said', async () => {
    const met = await round({ qps: 5 });
    expect(counts(met)).toEqual({ sent: 100, unsent: 0, succeeded: 0, errors: { unresolved: 100 } });
    expect(met.endedAt).toBeGreaterThan(19_800);
    expect(met.lookups).toHaveLength(20);
    const { failures } = met.results[0]!;
    expect(new Set(failures.slice(0, 5).map(({ message }) => message))).toEqual(new Set(['late: no answer at 30']));
    expect(failures[6]!.message).toMatch(/^late: no answer at 11\d\d$/);
    expect(Date.parse(failures[5]!.at) - Date.parse(failures[0]!.at)).toBe(1_000);
  });

  it('is looked up no more often than requests come due', async () => {
    // The one before the round, and one after each of its requests but the last, a second at the earliest after the look-up before it.
    expect((await round({ qps: 0.2 })).lookups.map((at) => Math.floor(at / 1_000))).toEqual([0, 1, 5, 10]);
  });

  it('is looked up once at a time, and an answer that took longer than was waited for it still counts', async () => {
    const met = await round({ qps: 5, since: 0, takesMs: () => 7_900 });
    expect(met.lookups).toHaveLength(1);
    expect(counts(met)).toEqual({ sent: 100, unsent: 0, succeeded: 85, errors: { unresolved: 15 } });
    expect(met.results[0]!.failures[0]!.message).toBe('late was not resolved within 5000 ms');
  });

  it('is looked up once for all its targets', async () => {
    const met = await round({ qps: 5, since: 1_000, targets: 3 });
    expect(met.lookups).toHaveLength(2);
    expect(met.results.map(({ succeeded, failed }) => succeeded + failed)).toEqual([100, 100, 100]);
    expect(met.results.every(({ succeeded }) => succeeded >= 94)).toBe(true);
  });

  it('is not looked up again once it leads where nobody may go', async () => {
    const met = await round({ qps: 5, since: 1_000, address: '169.254.169.254' });
    expect(met.lookups).toHaveLength(2);
    expect(counts(met)).toEqual({ sent: 100, unsent: 0, succeeded: 0, errors: { unresolved: 6, forbidden: 94 } });
  });
});

it.each([
  { does: 'at once', stalls: [] },
  { does: 'while the prober stands still for longer than it waits', stalls: [{ at: 10, ms: 6_000 }] },
])('a name that resolves $does is looked up once, and no request fails', async ({ stalls }) => {
  const met = await round({ qps: 5, since: 0, stalls });
  expect(met.lookups).toHaveLength(1);
  expect(counts(met)).toEqual({ sent: 100, unsent: 0, succeeded: 100, errors: {} });
});
