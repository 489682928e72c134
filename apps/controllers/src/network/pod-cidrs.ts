import { overlaps, parseCidr, type Cidr, type ClusterNetwork, type KubeObject, type Node } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { clusterNetworkOf, onClusterNetwork } from './cluster-network.ts';
import { freeSubnet, subnetCount } from './subnets.ts';

/** Where the next node's part of each range is looked for: kept, so that the part of a node that is gone is given again late also after a restart. */
const cursors = { namespace: 'kube-system', name: 'pod-cidrs', key: 'next' } as const;
type Cursors = KubeObject & { data?: Record<string, string> };

const hasOwn = ({ spec }: Node): boolean => (spec.podCIDRs ?? []).length > 0;

/** Gives every node its part of each range of pods, once and for all. What is given is in the nodes alone; intake refuses to give it twice. */
export function podCidrs(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('cidrAllocator');
  const without = (): string[] => caches.nodes.list().filter((node) => !hasOwn(node)).map(objectKey);

  /** Said to be a node's, and perhaps not yet written into it: by uid. */
  const promised = new Map<string, string[]>();

  /** Written before it is used: what is given by somebody who then fails is only left out. */
  async function advance(next: readonly number[]): Promise<void> {
    const { namespace, name, key } = cursors;
    const stored = caches.configMaps.get(namespace, name) as Cursors | undefined;
    const data = { ...stored?.data, [key]: next.join(',') };
    if (stored === undefined) await objects.create(caches.configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data });
    else await objects.update(caches.configMaps, { ...stored, data } as KubeObject);
  }
  function nextOf(ranges: number): number[] {
    const text = (caches.configMaps.get(cursors.namespace, cursors.name) as Cursors | undefined)?.data?.[cursors.key];
    const known = (text ?? '').split(',').map(Number);
    return Array.from({ length: ranges }, (_, index) => (Number.isSafeInteger(known[index]) && known[index]! >= 0 ? known[index]! : 0));
  }

  async function give(node: Node, network: ClusterNetwork): Promise<void> {
    const used = caches.nodes.list().flatMap(({ spec }) => (spec.podCIDRs ?? []).flatMap(readable));
    const { name, uid } = node.metadata;
    const before = promised.get(uid);
    if (before !== undefined && !before.some((text) => used.some((one) => overlaps(one, parseCidr(text))))) return write(node, before);
    const next = nextOf(network.podCidrs.length);
    const given: string[] = [];
    for (const [index, text] of network.podCidrs.entries()) {
      const range = parseCidr(text);
      const prefix = network.nodePrefixes[index] ?? range.prefix;
      const free = freeSubnet(range, prefix, used, next[index] ?? 0);
      if (free === undefined) {
        tell(node, 'Warning', 'CIDRNotAvailable', `Node ${name} status is now: CIDRNotAvailable: all ${subnetCount(range, prefix)} ranges /${prefix} of ${text} are given to nodes; delete the nodes that are gone, or give the cluster a larger range of pod addresses`);
        return;
      }
      given.push(free.cidr.text);
      next[index] = free.index + 1;
    }
    await advance(next);
    promised.set(uid, given);
    return write(node, given);
  }

  async function write(node: Node, given: string[]): Promise<void> {
    await objects.update(caches.nodes, { ...node, spec: { ...node.spec, podCIDR: given[0], podCIDRs: given } });
    promised.delete(node.metadata.uid);
  }

  return {
    name: 'pod-cidrs',
    // What one node was given the next one is not.
    concurrency: 1,
    keys: keysOf(caches.nodes),
    wakes: [onChange(caches.nodes, ({ type, object }) => (type === 'DELETED' ? without() : hasOwn(object) ? [] : [objectKey(object)])), onClusterNetwork(caches, without)],
    async reconcile(key) {
      const node = byKey(caches.nodes, key);
      const network = clusterNetworkOf(caches);
      if (node !== undefined && network !== undefined && !hasOwn(node) && node.metadata.deletionTimestamp === undefined) await give(node, network);
    },
  };
}

/** What a person wrote may be no range at all. */
function readable(text: string): Cidr[] {
  try {
    return [parseCidr(text)];
  } catch {
    return [];
  }
}
