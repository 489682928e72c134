import { createHash } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { availableParallelism, hostname, release, totalmem } from 'node:os';
import type { Settings } from './settings.ts';

/** What Kubernetes calls the architectures that Node knows. */
const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64', arm: 'arm', ia32: '386', s390x: 's390x', ppc64: 'ppc64le', riscv64: 'riscv64' };

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').then(
    (text) => text.trim(),
    // Not every machine has each of these files.
    () => '',
  );

/** status.nodeInfo: the machine's facts, and ids of this node's own where several nodes share a machine. */
export async function nodeInfo(node: string, runtimeVersion: string, version: string): Promise<Record<string, string>> {
  const [machine, boot, osRelease] = await Promise.all([textOf('/etc/machine-id'), textOf('/proc/sys/kernel/random/boot_id'), textOf('/etc/os-release')]);
  const id = createHash('sha256').update(`${machine || hostname()}/${node}`).digest('hex').slice(0, 32);
  return {
    machineID: id,
    systemUUID: `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`,
    bootID: boot,
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? process.platform,
    operatingSystem: process.platform,
    architecture: architectures[process.arch] ?? process.arch,
    containerRuntimeVersion: runtimeVersion,
    kubeletVersion: `v1.32.0+roundsman.${version}`,
    kubeProxyVersion: '',
  };
}

/** Memory this process may use: the machine's, or less where its cgroup says so. Bytes. */
function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

/** status.capacity as Kubernetes quantities. The disk is that of the agent's folder. */
export async function capacityOf({ cpu, memoryMi, share, maxPods, dataDir }: Pick<Settings, 'cpu' | 'memoryMi' | 'share' | 'maxPods' | 'dataDir'>): Promise<Record<string, string>> {
  const cores = cpu ?? availableParallelism() * share;
  const memoryKi = memoryMi === undefined ? Math.floor((machineMemory() * share) / 1024) : memoryMi * 1024;
  const { blocks, bsize } = await statfs(dataDir);
  return {
    cpu: Number.isInteger(cores) ? String(cores) : `${Math.floor(cores * 1000)}m`,
    memory: `${memoryKi}Ki`,
    pods: String(maxPods),
    'ephemeral-storage': `${Math.floor((blocks * bsize * share) / 1024)}Ki`,
  };
}

export interface NodeCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
}

/** Below these the node says that it is short of something. */
const leastMemory = 100 << 20;
const leastDiskShare = 0.05;

/** To look is to read several files of the kernel, and the nodes of a process tell it at about the same time: one look does for all of them. */
const lookAgainMs = 1_000;
let looked = { at: -Infinity, bytes: 0 };
function availableMemory(): number {
  if (performance.now() - looked.at >= lookAgainMs) looked = { at: performance.now(), bytes: process.availableMemory() };
  return looked.bytes;
}

/** Conditions of the machine, with the kubelet's names. `folder` lies on the disk that is looked at. */
export async function machineConditions(folder: string, memory: () => number = availableMemory): Promise<NodeCondition[]> {
  const available = memory();
  const shortOfMemory = available < leastMemory;
  const disk = await statfs(folder).then(
    ({ bavail, blocks }) => ({ share: blocks === 0 ? 1 : bavail / blocks, problem: undefined }),
    (error: Error) => ({ share: undefined, problem: error.message }),
  );
  const shortOfDisk = disk.share !== undefined && disk.share < leastDiskShare;
  return [
    {
      type: 'MemoryPressure',
      status: shortOfMemory ? 'True' : 'False',
      reason: shortOfMemory ? 'KubeletHasInsufficientMemory' : 'KubeletHasSufficientMemory',
      message: shortOfMemory ? `less than ${leastMemory >> 20} MiB of memory is available` : 'enough memory is available',
    },
    disk.share === undefined
      ? { type: 'DiskPressure', status: 'Unknown', reason: 'CannotTell', message: `the disk of ${folder} cannot be looked at: ${disk.problem}` }
      : {
          type: 'DiskPressure',
          status: shortOfDisk ? 'True' : 'False',
          reason: shortOfDisk ? 'KubeletHasDiskPressure' : 'KubeletHasNoDiskPressure',
          message: shortOfDisk ? `less than ${leastDiskShare * 100} % of the disk is free` : 'enough of the disk is free',
        },
    { type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID', message: 'processes can be started' },
  ];
}
