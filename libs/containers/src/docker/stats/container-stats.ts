import { readFile } from 'node:fs/promises';
import type { ContainerStats } from '../../pod-runtime.ts';
import type { Daemon } from '../daemon.ts';
import { findFolders, parseMounts, readUsage, type CgroupFolders, type CgroupMounts } from './cgroup-files.ts';

/**
 * Processor and memory of containers, from the files of their cgroups: a tenth of a millisecond each, where the daemon takes a second. The daemon is
 * asked where its cgroups cannot be seen from here.
 */
export class ContainerStatistics {
  readonly #daemon: Daemon;
  readonly #folders = new Map<string, CgroupFolders>();
  #mounts: Promise<CgroupMounts> | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /** `running`: ids with their process ids. Those that end meanwhile are left out. */
  async read(running: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, ContainerStats>> {
    for (const id of this.#folders.keys()) if (!running.has(id)) this.#folders.delete(id);
    const all = await Promise.all([...running].map(async ([id, pid]) => [id, await this.#readOne(id, pid)] as const));
    return new Map(all.filter((entry): entry is readonly [string, ContainerStats] => entry[1] !== undefined));
  }

  async #readOne(id: string, pid: number): Promise<ContainerStats | undefined> {
    const folders = this.#folders.get(id) ?? (await this.#find(id, pid));
    if (folders === undefined) return this.#ask(id);
    this.#folders.set(id, folders);
    try {
      return { atMs: Date.now(), ...(await readUsage(folders)) };
    } catch {
      // It has ended, or its files are at another place than the mounts here tell.
      this.#folders.delete(id);
      return this.#ask(id);
    }
  }

  async #find(id: string, pid: number): Promise<CgroupFolders | undefined> {
    this.#mounts ??= readFile('/proc/self/mountinfo', 'utf8').then(parseMounts);
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    // Else the pid is another machine's, or another namespace's.
    return cgroup.includes(id) ? findFolders(cgroup, await this.#mounts) : undefined;
  }

  async #ask(id: string): Promise<ContainerStats | undefined> {
    try {
      const { cpu_stats: cpu, memory_stats: memory } = await this.#daemon.ask('NotFound', (docker) => docker.getContainer(id).stats({ stream: false, 'one-shot': true }));
      if (memory?.usage === undefined) return undefined;
      const inactive = memory.stats?.total_inactive_file ?? memory.stats?.inactive_file ?? 0;
      return { atMs: Date.now(), cpuNanos: BigInt(cpu.cpu_usage.total_usage), memoryWorkingSetBytes: Math.max(0, memory.usage - inactive) };
    } catch {
      // It has ended, or the daemon is away; both show elsewhere.
      return undefined;
    }
  }
}
