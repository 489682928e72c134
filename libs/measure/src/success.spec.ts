import { describe, expect, it } from '@jest/globals';
import { judge } from './success.ts';

const counts = (over: Partial<{ planned: number; unsent: number; succeeded: number; meanMs: number }> = {}) => {
  const { planned = 100, unsent = 0, succeeded = 100, meanMs = 10 } = over;
  return { planned, unsent, succeeded, latency: { count: succeeded, sumUs: succeeded * meanMs * 1000 } };
};

describe('judge', () => {
  it('judges the rate first, then the mean, then unsent requests', () => {
    const all = counts({ succeeded: 90, unsent: 5, meanMs: 80 });
    expect(judge(all, { successRate: 0.95, meanAccessDelayInMs: 50 })).toEqual({ ok: false, reason: 'success rate 0.9 (90 of 100) is below 0.95' });
    expect(judge(all, { successRate: 0.9, meanAccessDelayInMs: 50 })).toEqual({ ok: false, reason: 'mean latency 80.000 ms is above 50 ms' });
    expect(judge(all, { successRate: 0.9, meanAccessDelayInMs: 100 })).toEqual({ ok: false, reason: '5 of 100 requests could not be sent before the round ended' });
    expect(judge(counts({ succeeded: 90 }), { successRate: 0.9, meanAccessDelayInMs: 50 })).toEqual({ ok: true });
  });

  it('counts unsent requests against the rate', () => {
    expect(judge(counts({ succeeded: 50, unsent: 50 }), { successRate: 1 }).reason).toContain('(50 of 100)');
  });

  it('takes a bound that is met exactly, and never rounds up to one that is missed', () => {
    expect(judge(counts({ meanMs: 50 }), { meanAccessDelayInMs: 50 }).ok).toBe(true);
    expect(judge(counts({ planned: 1_000_000, succeeded: 999_999 }), { successRate: 1 }).reason).toBe('success rate 0.9999 (999999 of 1000000) is below 1');
  });

  it('fails when nothing succeeded or nothing was planned', () => {
    expect(judge(counts({ succeeded: 0 }), { meanAccessDelayInMs: 5 })).toEqual({ ok: false, reason: 'no request succeeded, so there is no mean latency to judge' });
    expect(judge(counts({ planned: 0, succeeded: 0 }), {})).toEqual({ ok: false, reason: 'no request was planned' });
    expect(judge(counts({ succeeded: 0 }), {}).ok).toBe(true);
  });
});
