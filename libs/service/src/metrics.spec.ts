import { describe, expect, it } from '@jest/globals';
import { ProcessMetrics } from './metrics.ts';

const valueOf = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);

describe('metrics of a process', () => {
  it('tell how long turns of the event loop took, since they were last asked for', async () => {
    const metrics = new ProcessMetrics();
    await metrics.metrics();
    await new Promise((resolve) => setImmediate(resolve));
    for (const until = performance.now() + 120; performance.now() < until; );
    // Turns are counted once they are over.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const text = await metrics.metrics();
    expect(valueOf(text, 'nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.1);
    for (const statistic of ['min', 'mean', 'stddev', 'p50', 'p90', 'p99']) expect(valueOf(text, `nodejs_eventloop_lag_${statistic}_seconds`)).toBeGreaterThanOrEqual(0);
    expect(text.match(/^# TYPE nodejs_eventloop_lag_/gm)).toHaveLength(8);
  });
});
