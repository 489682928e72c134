import type { AgentSpec } from '../kinds/agent-spec.ts';
import type { Runtime, RuntimePaths } from '../kinds/runtime/schema.ts';
import type { NetDnsSpec, NetReachSpec } from '../kinds/spec.ts';
import type { Runner, TaskStatus } from '../kinds/task.ts';
import type { ObjectMeta } from '../meta.ts';
import { requiredNodes } from '../node-selector.ts';
import { parseAddress } from '../policy.ts';
import type { TaskKind } from '../round/work.ts';
import { defaultRuntime, runtimeNameOf } from '../runtimes.ts';
import { familyNames, knownCapabilities, storedNodes, storedRuntime, type Family, type Stored } from './cluster.ts';
import { familiesAsked } from './reach.ts';

/** Who carries a task, as far as it is there. */
export interface Carrier {
  readonly runtime: Runtime | undefined;
  /** Those of its runners that are ready. */
  readonly runners: readonly Runner[];
  /** Runners that it has, or is known to get. */
  readonly size: number;
}

export function carrierOf(kind: TaskKind, { metadata, spec }: { readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>; readonly spec: { readonly agentSpec?: AgentSpec | undefined } }, stored: Stored): Carrier {
  const { agentSpec } = spec;
  // What has no name is refused for that.
  const { name = '', namespace = '', uid = '' } = metadata;
  const own = agentSpec !== undefined && knownCapabilities(stored).workloads;
  const runtime = own ? { namespace, name: runtimeNameOf(kind, name, uid) } : defaultRuntime;
  const runners = (stored.list('runners.roundsman.io') as readonly Runner[]).filter(({ status }) => status?.ready === true && status.runtime === runtime.name);
  const found = storedRuntime(stored, runtime);
  return { runtime: found, runners, size: Math.max(runners.length, found?.status?.desired ?? (own ? wantedOf(agentSpec, stored) : 0), 1) };
}

/** Runners that a workload will have; 0 where only its cluster knows. */
function wantedOf({ kind, deploymentReplicas = 1, affinity }: AgentSpec, stored: Stored): number {
  if (kind === 'Deployment') return deploymentReplicas;
  const nodes = storedNodes(stored);
  const fits = requiredNodes(affinity === undefined ? {} : { affinity });
  if (nodes.length > 0) return fits === undefined ? nodes.length : nodes.filter(fits).length;
  return affinity === undefined ? (storedRuntime(stored)?.status?.desired ?? 0) : 0;
}

/** Targets that each runner of a NetReach has: by every way that is asked for, in each family. What is not there yet counts once. */
export function reachTargets({ target }: NetReachSpec, carrier: Carrier, stored: Stored): number {
  const paths = carrier.runtime?.status?.paths;
  let count = 0;
  for (const family of familiesAsked(target)) {
    if (target.endpoint) count += endpoints(family, carrier);
    if (target.multusInterface) count += interfaces(family, carrier);
    if (target.clusterIP) count += 1;
    if (target.nodePort) count += nodes(family, paths, stored);
    if (target.loadBalancer) count += hosts(family, paths?.services.find((service) => service.family === family)?.loadBalancer);
    if (target.ingress) count += hosts(family, paths?.ingress?.addresses);
  }
  return Math.max(1, count);
}

const isOf = (family: Family, address: string): boolean => parseAddress(address)?.kind() === familyNames[family].toLowerCase();

/** A name may lead to addresses of every family. */
const hosts = (family: Family, addresses: readonly { readonly ip?: string | undefined }[] = []): number => Math.max(1, addresses.filter(({ ip }) => ip === undefined || isOf(family, ip)).length);

function endpoints(family: Family, { runners, size }: Carrier): number {
  const known = runners.filter(({ status }) => status?.addresses.some((address) => address.family === family)).length;
  // Of runners that are not there yet nobody knows the families.
  return known + (size - runners.length);
}

const interfaces = (family: Family, { runtime }: Carrier): number => (runtime?.status?.runners ?? []).flatMap((runner) => (runner.interfaces ?? []).filter((one) => one.family === family)).length;

function nodes(family: Family, paths: RuntimePaths | undefined, stored: Stored): number {
  const known = paths?.nodes?.filter(({ addresses }) => addresses.some((address) => address.family === family));
  const internal = (): number => storedNodes(stored).filter(({ status }) => (status?.addresses ?? []).some(({ type, address }) => type === 'InternalIP' && isOf(family, address))).length;
  return Math.max(1, known?.length ?? internal());
}

/** Servers that each runner of a NetDNS asks. */
export function dnsTargets({ spec: { target: { targetDns } }, status }: { readonly spec: NetDnsSpec; readonly status?: TaskStatus | undefined }): number {
  if (targetDns === undefined) return 1;
  return Math.max(1, status?.dnsServers?.length ?? Number(targetDns.testIPv4) + Number(targetDns.testIPv6));
}
