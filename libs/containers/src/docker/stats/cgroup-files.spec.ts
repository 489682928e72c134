import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findFolders, parseMounts, readUsage } from './cgroup-files.ts';

const id = 'a'.repeat(64);
const mount = (path: string, type: string, options: string): string => `30 25 0:26 / ${path} rw,nosuid shared:5 - ${type} ${type} ${options}`;
const version1 = parseMounts([mount('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'rw,cpu,cpuacct'), mount('/sys/fs/cgroup/memory', 'cgroup', 'rw,memory'), mount('/sys/fs/cgroup/unified', 'cgroup2', 'rw')].join('\n'));
const version2 = parseMounts(mount('/sys/fs/cgroup', 'cgroup2', 'rw,nsdelegate'));

describe('cgroups of a process', () => {
  it('are found in both versions, and under systemd', () => {
    expect(findFolders(`4:memory:/docker/${id}\n3:cpu,cpuacct:/docker/${id}\n0::/\n`, version1)).toEqual({ version: 1, cpu: `/sys/fs/cgroup/cpu,cpuacct/docker/${id}`, memory: `/sys/fs/cgroup/memory/docker/${id}` });
    const scope = `/system.slice/docker-${id}.scope`;
    expect(findFolders(`0::${scope}\n`, version2)).toEqual({ version: 2, cpu: `/sys/fs/cgroup${scope}`, memory: `/sys/fs/cgroup${scope}` });
  });

  it('are not guessed at where they cannot be seen from here', () => {
    expect(findFolders(`0::/../../docker/${id}\n`, version2)).toBeUndefined();
    expect(findFolders(`0::/docker/${id}\n`, new Map())).toBeUndefined();
  });

  it('tell processor time, and memory without what can be given back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-cgroup-'));
    const write = (files: Record<string, string>): void => Object.entries(files).forEach(([name, text]) => writeFileSync(join(folder, name), text));
    write({ 'cpuacct.usage': '12345\n', 'memory.usage_in_bytes': '1000\n', 'memory.stat': 'inactive_file 1\ntotal_inactive_file 300\n' });
    expect(await readUsage({ version: 1, cpu: folder, memory: folder })).toEqual({ cpuNanos: 12_345n, memoryWorkingSetBytes: 700 });
    write({ 'cpu.stat': 'usage_usec 77\nuser_usec 1\n', 'memory.current': '1000\n', 'memory.stat': 'anon 5\ninactive_file 400\n' });
    expect(await readUsage({ version: 2, cpu: folder, memory: folder })).toEqual({ cpuNanos: 77_000n, memoryWorkingSetBytes: 600 });
    rmSync(folder, { recursive: true });
  });
});
