import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Starvation } from '@roundsman/api';

/** Above these a measurement says more about the prober than about the target. */
export const starvationThresholds = {
  /** Share of the round in which the measuring thread's event loop stood still; stalls count by their length, not one sample each. */
  stalledShare: 0.02,
  /** Less than this in all, or with no single stall as long as this, milliseconds, is hiccups, however short the round: they add a few milliseconds to few latencies. */
  stalledMs: 100,
  /** Share of the round from which on hiccups count, too: so many of them move every percentile. */
  hiccupShare: 0.1,
  /** One stall as long as this, milliseconds, however long the round: everything that was due in it left together. */
  longestStallMs: 250,
  /** Share of the round in which the cgroup kept the runner off the CPU. */
  throttledShare: 0.05,
} as const;

/** How often the event loop's delay is sampled, milliseconds. */
const resolutionMs = 5;
/** How often the event loop shows that it turns, and from which delay on it stood still; milliseconds. */
const beatMs = 10;
const stallMs = 20;

export interface StarvationMeter {
  /** What the prober itself suffered since the meter was started. Ends the measuring. */
  stop(): Starvation;
}

/** Starts to watch the event loop of this thread, the process's CPU time, and the cgroup's throttling. */
export function startStarvationMeter(readThrottled: () => number | undefined = throttledMicroseconds): StarvationMeter {
  const loop = monitorEventLoopDelay({ resolution: resolutionMs });
  loop.enable();
  const stalls = watchStalls();
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const throttled = readThrottled();
  return {
    stop() {
      loop.disable();
      const { stalledMs, longestStallMs } = stalls.stop();
      const wallUs = Math.max(1, (performance.now() - startedAt) * 1000);
      const used = process.cpuUsage(cpu);
      const throttledNow = readThrottled();
      // The sampling interval itself is part of every sample.
      const loopDelayP99Ms = loop.count === 0 ? 0 : Math.max(0, loop.percentile(99) / 1e6 - resolutionMs);
      const stalledShare = Math.min(1, (stalledMs * 1000) / wallUs);
      const throttledShare = throttled === undefined || throttledNow === undefined ? undefined : Math.max(0, throttledNow - throttled) / wallUs;
      const reasons: string[] = [];
      if (longestStallMs > starvationThresholds.longestStallMs) {
        reasons.push(`the measuring thread stood still for ${longestStallMs.toFixed(0)} ms, above ${starvationThresholds.longestStallMs} ms`);
      } else {
        const most = longestStallMs > starvationThresholds.stalledMs ? starvationThresholds.stalledShare : starvationThresholds.hiccupShare;
        if (stalledMs > starvationThresholds.stalledMs && stalledShare > most) {
          reasons.push(`the measuring thread stood still for ${(stalledShare * 100).toFixed(1)} % of the round (${stalledMs.toFixed(0)} ms, at most ${longestStallMs.toFixed(0)} ms at once), above ${most * 100} %`);
        }
      }
      if (throttledShare !== undefined && throttledShare > starvationThresholds.throttledShare) {
        reasons.push(`the CPU limit throttled the runner for ${(throttledShare * 100).toFixed(1)} % of the round, above ${starvationThresholds.throttledShare * 100} %`);
      }
      return {
        suspect: reasons.length > 0,
        reasons,
        loopDelayP99Ms,
        stalledShare,
        longestStallMs,
        cpuShare: (used.user + used.system) / wallUs,
        ...(throttledShare === undefined ? {} : { throttledShare }),
        rssBytes: process.memoryUsage.rss(),
      };
    },
  };
}

/** Adds up for how long the event loop did not turn: a stopped process, a long computation, a core taken by others. */
function watchStalls(): { stop(): { stalledMs: number; longestStallMs: number } } {
  let last = performance.now();
  let stalledMs = 0;
  let longestStallMs = 0;
  const beat = (): void => {
    const now = performance.now();
    const delay = now - last - beatMs;
    last = now;
    if (delay > stallMs) stalledMs += delay;
    if (delay > longestStallMs) longestStallMs = delay;
  };
  const timer = setInterval(beat, beatMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      beat();
      return { stalledMs, longestStallMs };
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
