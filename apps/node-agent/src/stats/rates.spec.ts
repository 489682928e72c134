import { describe, expect, it } from '@jest/globals';
import { parseMachineUsage } from './machine-usage.ts';
import { containerUsage, nodeUsage, type Sample } from './rates.ts';

const sample = (atMs: number, machineSeconds: number, containers: Record<string, [seconds: number, bytes: number]>): Sample => ({
  atMs,
  machine: { cpuNanos: BigInt(machineSeconds * 1e9), memoryBytes: 1_000 },
  containers: new Map(Object.entries(containers).map(([id, [seconds, bytes]]) => [id, { atMs, cpuNanos: BigInt(seconds * 1e9), memoryWorkingSetBytes: bytes }])),
});

describe('rates', () => {
  const before = sample(10_000, 100, { a: [5, 100] });
  const now = sample(20_000, 108, { a: [10, 200], b: [1, 50] });

  it('of a container, between the samples or since its start', () => {
    expect(containerUsage('a', 0, before, now)).toEqual({ cpuNanoCores: 500_000_000, memoryBytes: 200 });
    expect(containerUsage('b', 16_000, before, now)).toEqual({ cpuNanoCores: 250_000_000, memoryBytes: 50 });
    expect(containerUsage('gone', 0, before, now)).toBeUndefined();
  });

  it('of a node: its pods, and its share of the rest of the machine', () => {
    const pods = [{ cpuNanoCores: 500_000_000, memoryBytes: 400 }];
    expect(nodeUsage(1, pods, before, now)).toEqual({ cpuNanoCores: 800_000_000, memoryBytes: 1_000 });
    expect(nodeUsage(0.5, pods, before, now)).toEqual({ cpuNanoCores: 650_000_000, memoryBytes: 700 });
  });

  it('are never negative, whatever the counters do', () => {
    expect(containerUsage('a', 0, now, before)).toEqual({ cpuNanoCores: 0, memoryBytes: 100 });
    expect(nodeUsage(1, [], now, before).cpuNanoCores).toBe(0);
  });
});

it('the machine’s files are read as Linux writes them', () => {
  const stat = 'cpu  100 20 30 9000 500 4 6 7 3 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n';
  const meminfo = 'MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n';
  expect(parseMachineUsage(stat, meminfo)).toEqual({ cpuNanos: 1_600_000_000n, memoryBytes: 600 * 1024 });
});
