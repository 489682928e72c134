import { systemServices, type Service } from '@roundsman/api';
import type { Caches } from '../caches.ts';
import { heldBy } from '../network/load-balancer/addresses.ts';

const { namespace, ingress: name } = systemServices;

export const isEntrance = ({ metadata }: Service): boolean => metadata.namespace === namespace && metadata.name === name;

/** Where the cluster lets HTTP in: the load balancer's addresses, or, where the cluster gives none, those within the cluster. Names lead there, too (the node agent's DNS). */
export function entranceAddresses(caches: Pick<Caches, 'services'>): string[] {
  const entrance = caches.services.get(namespace, name);
  if (entrance === undefined) return [];
  const balanced = heldBy(entrance);
  return balanced.length > 0 ? balanced : (entrance.spec.clusterIPs ?? []).filter((address) => address !== 'None');
}
