import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { starvationSchema } from '@roundsman/api';
import { startStarvationMeter, throttledMicroseconds } from './starvation.ts';

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('startStarvationMeter', () => {
  it('sees a blocked event loop', async () => {
    const meter = startStarvationMeter();
    const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
    for (let i = 0; i < 4; i++) {
      const until = performance.now() + 60;
      while (performance.now() < until);
      await rest(10);
    }
    const { user, system } = process.cpuUsage(cpu);
    const cpuShare = (user + system) / 1000 / (performance.now() - startedAt);
    const starvation = starvationSchema.parse(meter.stop());
    expect(starvation.suspect).toBe(true);
    expect(starvation.reasons[0]).toMatch(/the measuring thread stood still for (\d+\.\d % of the round \(\d+ ms, at most \d+ ms at once\), above (2|10) %|\d+ ms, above 250 ms)/);
    expect(starvation.loopDelayP99Ms).toBeGreaterThan(30);
    // However much of it others leave to this process.
    expect(Math.abs(starvation.cpuShare - cpuShare)).toBeLessThan(0.1);
    expect(starvation.cpuShare).toBeGreaterThan(0.02);
    expect(starvation.rssBytes).toBeGreaterThan(1e6);
  });

  it('sees one stall in a long calm round, which percentiles of samples do not', async () => {
    const meter = startStarvationMeter(() => undefined);
    await rest(1500);
    const until = performance.now() + 300;
    while (performance.now() < until);
    await rest(1500);
    const starvation = starvationSchema.parse(meter.stop());
    expect(starvation.suspect).toBe(true);
    expect(starvation.reasons[0]).toMatch(/the measuring thread stood still for (2[5-9]\d|[3-9]\d\d|\d{4,}) ms, above 250 ms/);
    expect(starvation.stalledShare).toBeGreaterThan(0.08);
  });

  it('does not mind a hiccup in a short round', async () => {
    const meter = startStarvationMeter(() => undefined);
    const started = performance.now();
    await rest(100);
    const until = performance.now() + 45;
    while (performance.now() < until);
    await rest(100);
    const starvation = meter.stop();
    const wallMs = performance.now() - started;
    expect(starvation.longestStallMs).toBeGreaterThan(30);
    // Unless this machine itself stood still meanwhile.
    expect(starvation.suspect).toBe(starvation.longestStallMs! > 250 || starvation.stalledShare! * wallMs > 100);
  });

  it('minds hiccups that add up to a few percent only with a long one among them', async () => {
    const meter = startStarvationMeter(() => undefined);
    for (let i = 0; i < 4; i++) {
      const until = performance.now() + 50;
      while (performance.now() < until);
      await rest(500);
    }
    const { suspect, longestStallMs, stalledShare } = meter.stop();
    expect(stalledShare).toBeGreaterThan(0.03);
    // Unless this machine itself stood still meanwhile.
    expect(suspect).toBe(longestStallMs! > 100 || stalledShare! > 0.1);
  });

  it('sees throttling by the CPU limit', async () => {
    // More than half of the time, however long that is.
    const startedAt = performance.now();
    const meter = startStarvationMeter(() => 1_000_000 + (performance.now() - startedAt) * 600);
    await rest(50);
    const starvation = meter.stop();
    expect(starvation.suspect).toBe(true);
    expect(starvation.reasons.join()).toContain('the CPU limit throttled the runner for');
    expect(starvation.throttledShare).toBeGreaterThan(0.05);
  });

  it('says nothing about throttling where the kernel does not', () => {
    expect(startStarvationMeter(() => undefined).stop()).not.toHaveProperty('throttledShare');
  });
});

describe('throttledMicroseconds', () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'roundsman-'));
  });
  afterAll(() => rmSync(root, { recursive: true }));

  function machine(name: string, membership: string, files: Record<string, string>): number | undefined {
    const at = join(root, name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(at, path, '..'), { recursive: true });
      writeFileSync(join(at, path), text);
    }
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'membership'), membership);
    return throttledMicroseconds(at, join(at, 'membership'));
  }

  it('reads cgroup v2, at the own path and at the root of a container', () => {
    expect(machine('v2', '0::/pod/a\n', { 'pod/a/cpu.stat': 'usage_usec 5\nnr_throttled 2\nthrottled_usec 1234\n' })).toBe(1234);
    expect(machine('v2-container', '0::/pod/b\n', { 'cpu.stat': 'throttled_usec 77\n' })).toBe(77);
  });

  it('reads cgroup v1, in nanoseconds', () => {
    expect(machine('v1', '4:cpu,cpuacct:/docker/c\n0::/\n', { 'cpu,cpuacct/docker/c/cpu.stat': 'nr_throttled 1\nthrottled_time 5000000\n' })).toBe(5000);
    expect(machine('v1-cpu', '1:cpu:/\n', { 'cpu/cpu.stat': 'throttled_time 3000\n' })).toBe(3);
  });

  it('is undefined where nothing tells', () => {
    expect(machine('none', '', {})).toBeUndefined();
  });
});
