import { readFile } from 'node:fs/promises';

/** Of the whole machine. */
export interface MachineUsage {
  /** Processor time spent since it was started, all cores. */
  readonly cpuNanos: bigint;
  /** Memory that cannot be given back at once. */
  readonly memoryBytes: number;
}

/** One tick of /proc/stat, which is a hundredth of a second on every Linux. */
const nanosPerTick = 10_000_000n;

export async function machineUsage(): Promise<MachineUsage> {
  const [stat, meminfo] = await Promise.all([readFile('/proc/stat', 'utf8'), readFile('/proc/meminfo', 'utf8')]);
  return parseMachineUsage(stat, meminfo);
}

/** `cpu user nice system idle iowait irq softirq steal …`; the time of guests is in user's. */
export function parseMachineUsage(stat: string, meminfo: string): MachineUsage {
  const [user = '0', nice = '0', system = '0', , , irq = '0', softirq = '0'] = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '').split(' ');
  const busy = [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + BigInt(ticks), 0n);
  const kibibytes = (key: string): number => Number(new RegExp(`^${key}: +(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0);
  return { cpuNanos: busy * nanosPerTick, memoryBytes: (kibibytes('MemTotal') - kibibytes('MemAvailable')) * 1024 };
}
