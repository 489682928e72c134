import { createHash } from 'node:crypto';
import { runnerPodPorts, type Runtime } from '@roundsman/api';

/** Ports of the echo target of each runner of a runtime. */
export type RunnerPorts = Readonly<Record<keyof typeof runnerPodPorts, number>>;

/** On a Runtime whose runners are in the networks of their nodes: the first of its ports there. */
export const hostPortsAnnotation = 'roundsman.io/host-ports';

/** Below the node ports of Kubernetes (30000) and what systems give to outgoing connections (32768), above what is well known. */
const firstHostPort = 20_000;
const order = ['http', 'https', 'dns', 'dot', 'udp'] as const;
const slots = 1_900;
export const hostPortSlots = { first: firstHostPort, size: order.length, count: slots } as const;

const baseOf = (runtime: Pick<Runtime, 'metadata'>): number | undefined => {
  const base = Number(runtime.metadata.annotations?.[hostPortsAnnotation]);
  return Number.isInteger(base) && base > 0 ? base : undefined;
};

/** In pods with a network of their own always the same; in the network of the node those the Runtime was given. */
export function portsOf(runtime: Pick<Runtime, 'metadata'>): RunnerPorts {
  const base = baseOf(runtime);
  if (base === undefined) return runnerPodPorts;
  return Object.fromEntries(order.map((name, index) => [name, base + index])) as unknown as RunnerPorts;
}

/**
 * The first of the ports in the networks of nodes for a new runtime of this task: none that another runtime has. Where the search begins
 * depends on the task, so that installations which do not know of each other seldom meet. Throws when all are taken.
 */
export function chooseHostPorts(taskUid: string, taken: ReadonlySet<number>): number {
  const start = createHash('sha256').update(taskUid).digest().readUInt32BE(0) % slots;
  for (let step = 0; step < slots; step += 1) {
    const base = firstHostPort + ((start + step) % slots) * order.length;
    if (!taken.has(base)) return base;
  }
  throw new Error(`all ${slots} runtimes with hostNetwork that there can be are there`);
}

/** What `chooseHostPorts` must not choose. */
export const takenHostPorts = (runtimes: readonly Runtime[]): Set<number> => new Set(runtimes.flatMap((runtime) => baseOf(runtime) ?? []));
