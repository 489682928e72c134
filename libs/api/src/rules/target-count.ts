import type { RuntimePaths } from '../kinds/runtime/schema.ts';
import type { NetDnsSpec, NetReachSpec } from '../kinds/spec.ts';
import type { TaskStatus } from '../kinds/task.ts';
import type { Carrier } from './carrier.ts';
import { isOfFamily, storedNodes, type Family, type Stored } from './cluster.ts';
import { familiesAsked } from './reach.ts';

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

/** A name may lead to addresses of every family. */
const hosts = (family: Family, addresses: readonly { readonly ip?: string | undefined }[] = []): number => Math.max(1, addresses.filter(({ ip }) => ip === undefined || isOfFamily(family, ip)).length);

function endpoints(family: Family, { runners, size }: Carrier): number {
  const known = runners.filter(({ status }) => status?.addresses.some((address) => address.family === family)).length;
  // Of runners that are not there yet nobody knows the families.
  return known + (size - runners.length);
}

const interfaces = (family: Family, { runtime }: Carrier): number => (runtime?.status?.runners ?? []).flatMap((runner) => (runner.interfaces ?? []).filter((one) => one.family === family)).length;

function nodes(family: Family, paths: RuntimePaths | undefined, stored: Stored): number {
  const known = paths?.nodes?.filter(({ addresses }) => addresses.some((address) => address.family === family));
  const internal = (): number => storedNodes(stored).filter(({ status }) => (status?.addresses ?? []).some(({ type, address }) => type === 'InternalIP' && isOfFamily(family, address))).length;
  return Math.max(1, known?.length ?? internal());
}

/** Servers that each runner of a NetDNS asks. */
export function dnsTargets({ spec: { target: { targetDns } }, status }: { readonly spec: NetDnsSpec; readonly status?: TaskStatus | undefined }): number {
  if (targetDns === undefined) return 1;
  return Math.max(1, status?.dnsServers?.length ?? Number(targetDns.testIPv4) + Number(targetDns.testIPv6));
}
