import { clusterNetworkConfigMap, clusterNetworkSchema, parseCidr, type ClusterNetwork } from '../cluster-network.ts';
import type { AdmissionContext } from '../kind.ts';
import type { Node } from '../kinds/node/schema.ts';
import { families, type Runtime } from '../kinds/runtime/schema.ts';
import { parseAddress } from '../policy.ts';
import { defaultRuntime } from '../runtimes.ts';
import { capabilitiesOf, type Capabilities } from './capabilities.ts';

/** What the stored objects tell of the cluster that tasks are in. What they do not tell is undefined: it may come, or lie in a Kubernetes API elsewhere. */
export type Stored = Pick<AdmissionContext, 'get' | 'list'>;
export type Family = (typeof families)[number];

export const familyNames = { v4: 'IPv4', v6: 'IPv6' } as const;
export const isOfFamily = (family: Family, address: string): boolean => parseAddress(address)?.kind() === (family === 'v4' ? 'ipv4' : 'ipv6');

export const storedRuntime = ({ get }: Stored, { namespace, name }: { readonly namespace: string; readonly name: string } = defaultRuntime): Runtime | undefined =>
  get('runtimes.roundsman.io', namespace, name) as Runtime | undefined;

/** Nodes of the small cluster; none where runners are in a cluster of another Kubernetes API. */
export const storedNodes = ({ list }: Stored): readonly Node[] => list('nodes') as readonly Node[];

/** By the default runtime; while there is none by the nodes, and without any of these nothing speaks against workloads. */
export function knownCapabilities(stored: Stored): Capabilities {
  const runtime = storedRuntime(stored);
  if (runtime !== undefined) return capabilitiesOf(runtime);
  const nodes = storedNodes(stored);
  return { workloads: nodes.length === 0 || nodes.some(runsContainers) };
}

export const runsContainers = ({ status }: Node): boolean => status?.conditions?.find(({ type }) => type === 'ContainersRunnable')?.status !== 'False';

/** Addresses of the small cluster; undefined without one. */
export function storedNetwork(stored: Stored): ClusterNetwork | undefined {
  if (storedNodes(stored).length === 0) return undefined;
  const { namespace, name, key } = clusterNetworkConfigMap;
  const text = (stored.get('configmaps', namespace, name) as { data?: Record<string, string> } | undefined)?.data?.[key];
  try {
    return clusterNetworkSchema.parse(JSON.parse(text ?? ''));
  } catch {
    return undefined; // Written by hand: nobody but its writer knows the addresses.
  }
}

export const familiesOfRanges = (ranges: readonly string[]): Family[] => families.filter((family) => ranges.some((range) => parseCidr(range).family === familyNames[family]));

/** Families of Services and pods: as controllers were told, or as the small cluster has them. */
export function knownFamilies(stored: Stored): readonly Family[] | undefined {
  const runtime = storedRuntime(stored);
  if (runtime !== undefined && capabilitiesOf(runtime).workloads) return runtime.spec.families;
  const network = storedNetwork(stored);
  return network === undefined ? undefined : familiesOfRanges(network.serviceCidrs);
}
