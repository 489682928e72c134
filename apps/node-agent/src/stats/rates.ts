import type { ContainerStats } from '@roundsman/containers';
import type { MachineUsage } from './machine-usage.ts';

/** What was used until one moment. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly machine: MachineUsage;
  /** By container id. */
  readonly containers: ReadonlyMap<string, ContainerStats>;
}

export interface Usage {
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

const rate = (nanos: bigint, ms: number): number => (ms <= 0 || nanos <= 0n ? 0 : Math.round((Number(nanos) * 1000) / ms));

/** Of one container between two samples; since its start when the earlier one did not know it. Undefined when it does not run any more. */
export function containerUsage(id: string, startedAt: number, before: Sample, now: Sample): Usage | undefined {
  const stats = now.containers.get(id);
  if (stats === undefined) return undefined;
  const earlier = before.containers.get(id) ?? { atMs: Math.max(startedAt, 0), cpuNanos: 0n };
  return { cpuNanoCores: rate(stats.cpuNanos - earlier.cpuNanos, stats.atMs - earlier.atMs), memoryBytes: stats.memoryWorkingSetBytes };
}

/** Of a node that is a part of the machine: all that its pods use, and its share of the rest. */
export function nodeUsage(share: number, pods: readonly Usage[], before: Sample, now: Sample): Usage {
  const machine = { cpuNanoCores: rate(now.machine.cpuNanos - before.machine.cpuNanos, now.atMs - before.atMs), memoryBytes: now.machine.memoryBytes };
  const part = (key: keyof Usage): number => {
    const own = pods.reduce((sum, usage) => sum + usage[key], 0);
    return Math.round(own + share * Math.max(0, machine[key] - own));
  };
  return { cpuNanoCores: part('cpuNanoCores'), memoryBytes: part('memoryBytes') };
}
