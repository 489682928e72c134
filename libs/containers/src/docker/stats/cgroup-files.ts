import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the cgroups of both versions are mounted: by controller for v1, `''` for the unified hierarchy. */
export type CgroupMounts = ReadonlyMap<string, string>;

/** Of /proc/self/mountinfo: `… mountpoint options … - type source superoptions`. */
export function parseMounts(mountinfo: string): CgroupMounts {
  const mounts = new Map<string, string>();
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const [type, , options = ''] = right.split(' ');
    const mountpoint = left.split(' ')[4] ?? '';
    if (type === 'cgroup2') mounts.set('', mountpoint);
    if (type === 'cgroup') for (const option of options.split(',')) if (!mounts.has(option)) mounts.set(option, mountpoint);
  }
  return mounts;
}

export interface CgroupFolders {
  readonly version: 1 | 2;
  readonly cpu: string;
  readonly memory: string;
}

/** Of a process's /proc/PID/cgroup (lines `id:controllers:path`); undefined when what is needed is not mounted here. */
export function findFolders(cgroup: string, mounts: CgroupMounts): CgroupFolders | undefined {
  const paths = new Map<string, string>();
  for (const line of cgroup.split('\n')) {
    const [, controllers, ...path] = line.split(':');
    for (const controller of controllers?.split(',') ?? []) paths.set(controller, path.join(':'));
  }
  const folder = (controller: string): string | undefined => {
    const [mount, path] = [mounts.get(controller), paths.get(controller)];
    // A path upwards means that this process sees only a part of the tree.
    return mount === undefined || path === undefined || path.startsWith('/..') ? undefined : join(mount, path);
  };
  const [cpu, memory] = [folder('cpuacct'), folder('memory')];
  if (cpu !== undefined && memory !== undefined) return { version: 1, cpu, memory };
  const unified = folder('');
  return unified === undefined || paths.size > 1 ? undefined : { version: 2, cpu: unified, memory: unified };
}

/** Rejects when the container has ended meanwhile. */
export async function readUsage({ version, cpu, memory }: CgroupFolders): Promise<{ cpuNanos: bigint; memoryWorkingSetBytes: number }> {
  const files = version === 1 ? ['cpuacct.usage', 'memory.usage_in_bytes', 'memory.stat'] : ['cpu.stat', 'memory.current', 'memory.stat'];
  const [cpuText = '', usage = '0', stat = ''] = await Promise.all(files.map((file, index) => readFile(join(index === 0 ? cpu : memory, file), 'utf8')));
  const value = (text: string, key: string): string => new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? '0';
  return {
    cpuNanos: version === 1 ? BigInt(cpuText.trim()) : BigInt(value(cpuText, 'usage_usec')) * 1000n,
    memoryWorkingSetBytes: Math.max(0, Number(usage) - Number(value(stat, version === 1 ? 'total_inactive_file' : 'inactive_file'))),
  };
}
