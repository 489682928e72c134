import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

type Measured = ReturnType<typeof monitorEventLoopDelay>;

/** How prom-client names them, and what each is of the nanoseconds measured. */
const statistics: Record<string, (loop: Measured) => number> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  mean: ({ mean }) => mean,
  stddev: ({ stddev }) => stddev,
  p50: (loop) => loop.percentile(50),
  p90: (loop) => loop.percentile(90),
  p99: (loop) => loop.percentile(99),
};

/** Longer than any process lives, as far as a timer reaches: what prom-client is to wait between its samples. */
export const neverSampledMs = 2 ** 31 - 1;

/**
 * Takes the place of prom-client's metrics of the event loop, under the same names: those wake an idle process up a hundred times a second, and count the time
 * between two samples as lag. Here each turn of the loop is a sample: how long it kept all else waiting, since the last time that anybody asked.
 */
export function measureEventLoop(registry: Registry): void {
  const loop = monitorEventLoopDelay({ samplePerIteration: true });
  loop.enable();
  const gauges = Object.keys(statistics).map((statistic, index) => {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`;
    registry.removeSingleMetric(name);
    // All by one, so that all are of the same turns: the registry asks each in the order in which they were made.
    return new Gauge({ name, help: `How long one turn of the event loop took: ${statistic}`, registers: [registry], ...(index === 0 ? { collect: () => takeAll() } : {}) });
  });
  const takeAll = (): void => {
    Object.values(statistics).forEach((of, index) => gauges[index]?.set(loop.count === 0 ? 0 : of(loop) / 1e9));
    loop.reset();
  };
}
