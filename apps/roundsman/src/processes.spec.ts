import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { alive, descendants, end, record } from './processes.ts';

describe('recorded processes', () => {
  it('are known by pid and start time: another start time is another process', async () => {
    const child = spawn('sleep', ['30'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const recorded = record('sleep', child.pid!)!;
    expect(alive(recorded)).toBe(true);
    expect(alive({ ...recorded, started: `${recorded.started}0` })).toBe(false);
    await end([{ ...recorded, started: 'else' }], 'SIGKILL', 100);
    expect(alive(recorded)).toBe(true);
    await end([recorded], 'SIGTERM', 5_000);
    expect(alive(recorded)).toBe(false);
  });

  it('get SIGKILL when they do not listen', async () => {
    const child = spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const recorded = record('sh', child.pid!)!;
    await end([recorded], 'SIGTERM', 200);
    expect(alive(recorded)).toBe(false);
  });

  it('include grandchildren', async () => {
    const child = spawn('sh', ['-c', 'sleep 30 & echo ready; wait'], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const below = descendants(process.pid);
    const grandchild = below.find(({ name }) => name === 'sleep');
    expect(below.map(({ pid }) => pid)).toContain(child.pid);
    expect(grandchild).toBeDefined();
    await end(below.filter(({ pid }) => pid === child.pid || pid === grandchild?.pid), 'SIGKILL', 5_000);
  });
});
