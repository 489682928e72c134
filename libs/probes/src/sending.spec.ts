import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { httpTargetSchema, type RequestBudget, type TargetResult } from '@roundsman/api';
import { limitsFor, type Limits } from './limits.ts';
import type { Prepared } from './probe.ts';
import { plannedRequests } from './round.ts';
import { dueAt, latestSend, sendAll, type Schedule } from './sending.ts';
import { TargetRun } from './target-run.ts';
import { FakeLoop, type Stall } from './testing/fake-loop.ts';

interface World {
  readonly budget: RequestBudget;
  readonly stalls?: readonly Stall[];
  readonly targets?: number;
  /** Of every answer; what takes longer than the timeout counts as failed then. */
  readonly latencyMs?: number;
  readonly limits?: Limits;
  /** When all must have ended. */
  readonly over?: number;
  readonly cancelAt?: number;
}

interface Sent {
  readonly slot: number;
  readonly due: number;
  readonly at: number;
}

/** What a round sends in a world, to the turn of the loop. */
async function sending({ budget, stalls = [], targets = 1, latencyMs = 2, limits = limitsFor(budget, targets, 65_536), over = Number.POSITIVE_INFINITY, cancelAt }: World) {
  const loop = new FakeLoop(stalls);
  const planned = plannedRequests(budget);
  const schedule: Schedule = { start: 0, durationMs: budget.durationMs, interval: 1000 / budget.qps, planned, lanes: targets, over, timeoutMs: budget.timeoutMs };
  const sent: Sent[][] = [];
  const runs = Array.from({ length: targets }, (_, lane) => {
    const mine: Sent[] = [];
    sent.push(mine);
    const prepared: Prepared = {
      address: 'here', method: 'GET', host: '127.0.0.1', port: 80,
      open: (_pinned, { record, ended }, timeoutMs) => {
        const prober = {
          gathers: false,
          inFlight: 0,
          hasRoom: () => prober.inFlight < limits.connections,
          start: (intended: number, now: number) => {
            prober.inFlight += 1;
            mine.push({ slot: mine.length, due: dueAt(schedule, lane, mine.length), at: now });
            loop.arrive(Math.min(latencyMs, timeoutMs), () => {
              prober.inFlight -= 1;
              if (latencyMs < timeoutMs) record.success(intended, loop.now);
              else record.failure(intended, loop.now, 'timeout', 'no answer');
              ended.call(runs[lane], loop.now);
            });
          },
          cancel: () => undefined,
          close: () => undefined,
        };
        return prober;
      },
    };
    return new TargetRun(httpTargetSchema.parse({ id: `t${lane}`, layer: 'url', probe: 'http', url: 'http://here/' }), prepared, planned);
  });
  const cancel = new AbortController();
  await loop.run(() => {
    runs.forEach((run, lane) => run.begin({ address: '127.0.0.1', family: 4, port: 80 }, (slot) => dueAt(schedule, lane, slot), budget.timeoutMs, limits, latestSend(schedule)));
    if (cancelAt !== undefined) setTimeout(() => (cancel.abort(), runs.forEach((run) => run.cancel())), cancelAt);
    return sendAll(runs, schedule, cancel.signal);
  });
  return { results: runs.map((run) => run.result(0, {})), sent, endedAt: loop.now };
}

const counts = ({ planned, sent, unsent, succeeded, failed }: TargetResult) => ({ planned, sent, unsent, succeeded, failed });
const budget: RequestBudget = { qps: 10, durationMs: 2_000, timeoutMs: 500 };
const whole = { planned: 20, sent: 20, unsent: 0, succeeded: 20, failed: 0 };

describe('sendAll', () => {
  it('sends on schedule when nothing holds it up, and ends with the last answer', async () => {
    const { results: [result], sent: [sent], endedAt } = await sending({ budget });
    expect(counts(result!)).toEqual(whole);
    expect(Math.max(...sent!.map(({ at, due }) => at - due))).toBeLessThan(1);
    expect(endedAt).toBeLessThan(1_910);
    expect(result!.sendLag.maxUs).toBeLessThan(1_000);
  });

  it.each([
    { of: 'over the end of the schedule', stalls: [{ at: 1_850, ms: 400 }] },
    { of: 'far beyond it', stalls: [{ at: 500, ms: 30_000 }] },
    { of: 'again and again', stalls: [600, 1_200, 1_750, 2_200].map((at) => ({ at, ms: 500 })) },
  ])('sends what a stall $of held up as soon as it is over, and tells how late', async ({ stalls }) => {
    const { results: [result], sent: [sent] } = await sending({ budget, stalls, over: 60_000 });
    expect(counts(result!)).toEqual(whole);
    const latest = Math.max(...sent!.map(({ at, due }) => at - due));
    expect(latest).toBeGreaterThan(100);
    expect(result!.sendLag.maxUs).toBeCloseTo(latest * 1_000, -1);
    // A latency counts from when the request was due.
    expect(result!.latency.maxUs).toBeGreaterThan(latest * 1_000);
  });

  it('sends nothing that could not end in time any more: that is unsent, and said', async () => {
    const { results: [result], sent: [sent] } = await sending({ budget, stalls: [{ at: 1_050, ms: 9_000 }], over: 10_000 });
    expect(counts(result!)).toEqual({ planned: 20, sent: 11, unsent: 9, succeeded: 11, failed: 0 });
    expect(result!.reason).toBe('9 of 20 requests could not be sent before the round ended');
    expect(Math.max(...sent!.map(({ at }) => at))).toBeLessThan(1_050);
  });

  it('does not go on for a target that takes all the room it can have', async () => {
    const { results: [result], endedAt } = await sending({ budget, latencyMs: 1_000, limits: { connections: 1, inFlight: 1 } });
    expect(counts(result!)).toEqual({ planned: 20, sent: 5, unsent: 15, succeeded: 0, failed: 5 });
    expect(endedAt).toBeLessThan(2_600);
  });

  it('gives what waits for room as much longer as it was late itself', async () => {
    // 15 requests are due at once, three at a time have room for 100 ms each.
    const late = { budget, latencyMs: 100, limits: { connections: 3, inFlight: 3 }, stalls: [{ at: 450, ms: 1_600 }] };
    expect(counts((await sending(late)).results[0]!)).toEqual(whole);
    // Even if it is held up while they wait.
    expect(counts((await sending({ ...late, stalls: [...late.stalls, { at: 2_080, ms: 5_000 }] })).results[0]!)).toEqual(whole);
  });

  it('sends nothing after a cancel', async () => {
    const { results, sent } = await sending({ budget, targets: 3, stalls: [{ at: 700, ms: 400 }], cancelAt: 1_020 });
    expect(sent.flat().filter(({ at }) => at > 1_110)).toEqual([]);
    expect(results.map(({ sent: n, unsent }) => n + unsent)).toEqual([20, 20, 20]);
  });

  const stall = fc.record({ at: fc.integer({ min: 0, max: 3_000 }), ms: fc.integer({ min: 1, max: 2_500 }) });
  const anyBudget = fc.record({ qps: fc.constantFrom(0.7, 3, 10, 25, 60), durationMs: fc.integer({ min: 300, max: 2_500 }), timeoutMs: fc.constantFrom(50, 400, 3_000) });

  it('whatever stalls there are: each request is sent once and in order, never early, or is unsent; and none is when there is time', async () => {
    await fc.assert(
      fc.asyncProperty(anyBudget, fc.array(stall, { maxLength: 5 }), fc.integer({ min: 1, max: 3 }), fc.double({ min: 0.01, max: 1.2, noNaN: true }), fc.constantFrom(3_500, 9_000, 60_000), async (request, stalls, targets, share, over) => {
        const { results, sent } = await sending({ budget: request, stalls, targets, latencyMs: share * request.timeoutMs, over });
        const scheduleEnds = request.durationMs + 100;
        const stallsEnd = Math.max(0, ...stalls.map(({ at }) => at)) + stalls.reduce((sum, { ms }) => sum + ms, 0);
        // With room to answer what the stalls have gathered, in turns of a timeout each.
        const inTime = Math.max(scheduleEnds, stallsEnd) * 2 + 2 * request.timeoutMs < over;
        results.forEach((result, lane) => {
          expect(result.sent + result.unsent).toBe(result.planned);
          expect(result.succeeded + result.failed).toBe(result.sent);
          if (inTime) expect(result.unsent).toBe(0);
          const mine = sent[lane]!;
          expect(mine.map(({ slot }) => slot)).toEqual(Array.from({ length: result.sent }, (_, slot) => slot));
          for (const { at, due } of mine) {
            expect(at).toBeGreaterThan(due - 1e-6);
            expect(at).toBeLessThanOrEqual(Math.max(scheduleEnds, over - request.timeoutMs) + 0.5);
          }
        });
      }),
      { numRuns: 100, seed: 6 },
    );
  });
});
