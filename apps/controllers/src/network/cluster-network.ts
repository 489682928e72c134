import { clusterNetworkConfigMap, clusterNetworkSchema, type ClusterNetwork, type KubeObject } from '@roundsman/api';
import type { Caches } from '../caches.ts';
import { onChange, type Wake } from '../loop.ts';

const { namespace, name, key } = clusterNetworkConfigMap;
/** Parsed once each. */
const parsed = new WeakMap<KubeObject, ClusterNetwork>();

/** The addresses of the cluster as intake has published them; undefined before it has. Throws when a person has spoilt them. */
export function clusterNetworkOf(caches: Pick<Caches, 'configMaps'>): ClusterNetwork | undefined {
  const stored = caches.configMaps.get(namespace, name) as (KubeObject & { data?: Readonly<Record<string, string>> }) | undefined;
  if (stored === undefined) return undefined;
  let network = parsed.get(stored);
  if (network === undefined) {
    try {
      network = clusterNetworkSchema.parse(JSON.parse(stored.data?.[key] ?? ''));
    } catch (error) {
      throw new Error(`ConfigMap ${namespace}/${name}, key ${key}, does not hold the addresses of the cluster; intake writes it anew when it starts`, { cause: error });
    }
    parsed.set(stored, network);
  }
  return network;
}

/** Wakes these keys when the addresses of the cluster become known, or change. */
export const onClusterNetwork = (caches: Pick<Caches, 'configMaps'>, keys: () => Iterable<string>): Wake =>
  onChange(caches.configMaps, ({ object }) => (object.metadata.namespace === namespace && object.metadata.name === name ? keys() : []));
