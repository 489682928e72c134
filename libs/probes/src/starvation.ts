import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Starvation } from '@roundsman/api';

/** Above these a measurement says more about the prober than about the target. */
export const starvationThresholds = {
  /** Event-loop delay p99 of the measuring thread, milliseconds. */
  loopDelayP99Ms: 20,
  /** Share of the round in which the cgroup kept the runner off the CPU. */
  throttledShare: 0.05,
} as const;

/** How often the event loop's delay is sampled, milliseconds. */
const resolutionMs = 5;

export interface StarvationMeter {
  /** What the prober itself suffered since the meter was started. Ends the measuring. */
  stop(): Starvation;
}

/** Starts to watch the event loop of this thread, the process's CPU time, and the cgroup's throttling. */
export function startStarvationMeter(readThrottled: () => number | undefined = throttledMicroseconds): StarvationMeter {
  const loop = monitorEventLoopDelay({ resolution: resolutionMs });
  loop.enable();
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const throttled = readThrottled();
  return {
    stop() {
      loop.disable();
      const wallUs = Math.max(1, (performance.now() - startedAt) * 1000);
      const used = process.cpuUsage(cpu);
      const throttledNow = readThrottled();
      // The sampling interval itself is part of every sample.
      const loopDelayP99Ms = loop.count === 0 ? 0 : Math.max(0, loop.percentile(99) / 1e6 - resolutionMs);
      const throttledShare = throttled === undefined || throttledNow === undefined ? undefined : Math.max(0, throttledNow - throttled) / wallUs;
      const reasons: string[] = [];
      if (loopDelayP99Ms > starvationThresholds.loopDelayP99Ms) {
        reasons.push(`event-loop delay p99 ${loopDelayP99Ms.toFixed(1)} ms is above ${starvationThresholds.loopDelayP99Ms} ms`);
      }
      if (throttledShare !== undefined && throttledShare > starvationThresholds.throttledShare) {
        reasons.push(`the CPU limit throttled the runner for ${(throttledShare * 100).toFixed(1)} % of the round, above ${starvationThresholds.throttledShare * 100} %`);
      }
      return {
        suspect: reasons.length > 0,
        reasons,
        loopDelayP99Ms,
        cpuShare: (used.user + used.system) / wallUs,
        ...(throttledShare === undefined ? {} : { throttledShare }),
        rssBytes: process.memoryUsage.rss(),
      };
    },
  };
}

/**
 * Microseconds for which this process's cgroup was throttled so far; undefined where the kernel does not tell. Inside a
 * container the own cgroup is mounted at the root, outside it lies at the path that /proc/self/cgroup names.
 */
export function throttledMicroseconds(root = '/sys/fs/cgroup', membership = '/proc/self/cgroup'): number | undefined {
  for (const { file, key, perUs } of candidates(root, membership)) {
    const value = new RegExp(`^${key} (\\d+)$`, 'm').exec(read(file) ?? '')?.[1];
    if (value !== undefined) return Number(value) / perUs;
  }
  return undefined;
}

function candidates(root: string, membership: string): { file: string; key: string; perUs: number }[] {
  const lines = (read(membership) ?? '').split('\n').map((line) => line.split(':'));
  const v2 = lines.find(([id]) => id === '0')?.slice(2).join(':');
  const v1 = lines.find(([, controllers]) => controllers?.split(',').includes('cpu'))?.slice(2).join(':');
  const paths: { file: string; key: string; perUs: number }[] = [];
  for (const path of v2 === undefined ? [''] : [v2, '']) paths.push({ file: `${root}${path}/cpu.stat`, key: 'throttled_usec', perUs: 1 });
  for (const path of v1 === undefined ? [''] : [v1, '']) {
    for (const mount of ['cpu', 'cpu,cpuacct']) paths.push({ file: `${root}/${mount}${path}/cpu.stat`, key: 'throttled_time', perUs: 1000 });
  }
  return paths;
}

/** Undefined when it is not there or may not be read: then the kernel does not tell. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
