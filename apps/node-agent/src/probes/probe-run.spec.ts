import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Probe } from '@roundsman/api';
import { failure, success, type Outcome } from './outcome.ts';
import { ProbeRun } from './probe-run.ts';

const refused = failure('dial tcp 10.0.0.1:80: connect: connection refused', true);
const unhealthy = failure('HTTP probe failed with statuscode: 503');

describe('when a container is probed', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** What it finds from a time on (milliseconds after the start), until the next one. */
  function probed(found: Readonly<Record<number, Outcome>>, probe: Partial<Probe> = {}, awaited = true): { run: ProbeRun; tries: number[]; told: number; verdicts: [boolean, number][] } {
    const startedAt = Date.now();
    const age = (): number => Date.now() - startedAt;
    const seen = { tries: [] as number[], told: 0, verdicts: [] as [boolean, number][] };
    const run = new ProbeRun({
      probe: { periodSeconds: 2, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3, ...probe } as Probe,
      startedAt,
      try: () => {
        seen.tries.push(age());
        return Promise.resolve(Object.entries(found).findLast(([from]) => Number(from) <= age())![1]);
      },
      awaited,
      onOutcome: () => void (seen.told += 1),
      onVerdict: (verdict) => void seen.verdicts.push([verdict, age()]),
      endsWith: (verdict) => !verdict,
    });
    return Object.assign(seen, { run });
  }

  it('it is ready soon after it listens, whatever the period; only one try of a period is told', async () => {
    const web = probed({ 0: refused, 600: success });
    await jest.advanceTimersByTimeAsync(1_900);
    expect(web).toMatchObject({ verdicts: [[true, 750]], tries: [0, 250, 500, 750], told: 1 });
    // From then on every period.
    await jest.advanceTimersByTimeAsync(4_000);
    expect(web.tries.slice(4)).toEqual([2_750, 4_750]);
    web.run.stop();
  });

  it('tries in between are no failures', async () => {
    const never = probed({ 0: refused });
    await jest.advanceTimersByTimeAsync(3_900);
    expect(never).toMatchObject({ verdicts: [], told: 2 });
    await jest.advanceTimersByTimeAsync(500);
    expect(never).toMatchObject({ verdicts: [[false, 4_000]], told: 3 });
  });

  it('what fails otherwise in between is no failure either, nor told: those come once in a period', async () => {
    const [busy, odd] = [unhealthy, { result: 'unknown', message: 'odd' } as const].map((found) => probed({ 0: refused, 600: found }));
    await jest.advanceTimersByTimeAsync(3_900);
    for (const one of [busy, odd]) expect(one).toMatchObject({ verdicts: [], tries: [0, 250, 500, 750, 2_000], told: 2 });
    await jest.advanceTimersByTimeAsync(2_500);
    expect([busy!.verdicts, odd!.verdicts]).toEqual([[[false, 4_000]], []]);
    odd!.run.stop();
  });

  it('one whose success nobody waits for is tried once in a period', async () => {
    const live = probed({ 0: refused, 600: success }, {}, false);
    await jest.advanceTimersByTimeAsync(4_100);
    expect(live).toMatchObject({ tries: [0, 2_000, 4_000], verdicts: [[true, 2_000]] });
    live.run.stop();
  });

  it('one that has answered once is asked every period, and so is one that does not listen for long', async () => {
    const [ill, gone, never] = [probed({ 0: unhealthy, 1_000: success }), probed({ 0: success, 1_000: refused }), probed({ 0: refused }, { failureThreshold: 100 })];
    await jest.advanceTimersByTimeAsync(5_000);
    expect(ill.tries).toEqual([0, 2_000, 4_000]);
    expect(gone.tries).toEqual([0, 2_000, 4_000]);
    await jest.advanceTimersByTimeAsync(15_000);
    expect(never.tries.filter((at) => at > 10_000)).toEqual([12_000, 14_000, 16_000, 18_000, 20_000]);
    for (const { run } of [ill, gone, never]) run.stop();
  });
});
