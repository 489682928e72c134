import { parseQuantity, quantityMillis, type Pod } from '@roundsman/api';
import { isTerminal } from '../status/phase.ts';
import { isSidecar } from './restart-policy.ts';

/** Why a pod that was bound to this node cannot run on it. */
export interface Refusal {
  readonly reason: 'OutOfcpu' | 'OutOfmemory' | 'OutOfephemeral-storage' | 'OutOfpods' | 'NodePorts';
  readonly message: string;
}

/** Units as the kubelet counts them: thousandths of a core, bytes. */
const counted = { cpu: quantityMillis, memory: parseQuantity, 'ephemeral-storage': parseQuantity } as const;

/** Asked for by a pod: its app containers and sidecars together, or its largest init container (with the sidecars before it), and its overhead. */
export function requestOf({ spec }: Pick<Pod, 'spec'>, name: keyof typeof counted): number {
  const amount = (amounts: Readonly<Record<string, string>> | undefined): number => Math.ceil(counted[name](amounts?.[name] ?? '0'));
  let sidecars = 0;
  let init = 0;
  for (const container of spec.initContainers ?? []) {
    const own = amount(container.resources?.requests);
    if (isSidecar(container)) sidecars += own;
    init = Math.max(init, sidecars + (isSidecar(container) ? 0 : own));
  }
  const apps = spec.containers.reduce((sum, { resources }) => sum + amount(resources?.requests), 0);
  return Math.max(apps + sidecars, init) + amount(spec.overhead);
}

/** Why the node does not take the pod besides those that it has; undefined when it does. */
export function refusal(pod: Pod, others: readonly Pod[], allocatable: Readonly<Record<string, string>>): Refusal | undefined {
  const active = others.filter((other) => other.metadata.uid !== pod.metadata.uid && !isTerminal(other.status?.phase));
  const short = (reason: Refusal['reason'], resource: string, requested: number, used: number, capacity: number): Refusal => ({
    reason,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  });
  const pods = Number(allocatable['pods'] ?? '0');
  if (active.length + 1 > pods) return short('OutOfpods', 'pods', 1, active.length, pods);
  for (const name of Object.keys(counted) as (keyof typeof counted)[]) {
    const requested = requestOf(pod, name);
    if (requested === 0 || allocatable[name] === undefined) continue;
    const used = active.reduce((sum, other) => sum + requestOf(other, name), 0);
    const capacity = Math.floor(counted[name](allocatable[name]));
    if (requested + used > capacity) return short(`OutOf${name}`, name, requested, used, capacity);
  }
  const taken = active.flatMap(hostPortsOf);
  const clash = hostPortsOf(pod).some((port) => taken.some((other) => conflict(port, other)));
  return clash ? { reason: 'NodePorts', message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports" } : undefined;
}

interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
}

function hostPortsOf({ spec }: Pod): HostPort[] {
  const containers = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, containerPort, protocol, hostIP = '' }) => {
      const port = hostPort ?? (spec.hostNetwork === true ? containerPort : 0);
      return port === 0 ? [] : [{ port, protocol, ip: hostIP === '' ? '0.0.0.0' : hostIP }];
    }),
  );
}

const conflict = (a: HostPort, b: HostPort): boolean => a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0');
