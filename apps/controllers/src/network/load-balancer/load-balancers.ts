import { indexIn, parseCidr, type Cidr, type KubeObject, type Service } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { clusterNetworkOf, onClusterNetwork } from '../cluster-network.ts';
import { addressesFor, heldBy, NoAddress } from './addresses.ts';

/** Load balancers of other classes are others' business. */
const isOurs = ({ spec }: Service): boolean => spec.loadBalancerClass === undefined;
const isBalanced = (service: Service): boolean => service.spec.type === 'LoadBalancer' && isOurs(service);

/** Gives Services of type LoadBalancer addresses from the pool of the cluster. What is given is in their status alone. */
export function loadBalancers(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('service-controller');
  /** By range: behind the one that was given last. */
  const next = new Map<string, bigint>();
  const balanced = (): string[] => caches.services.list().filter(isBalanced).map(objectKey);
  const waiting = (): string[] => caches.services.list().filter((service) => isBalanced(service) && heldBy(service).length === 0).map(objectKey);

  function takenFrom(service: Service): Map<string, string> {
    const taken = new Map<string, string>();
    for (const other of caches.services.list()) {
      if (other.metadata.uid === service.metadata.uid) continue;
      for (const address of other.spec.externalIPs ?? []) taken.set(address, objectKey(other));
      // Two that have the same: it stays the older one's.
      const held = heldBy(service);
      for (const address of heldBy(other)) if (!held.includes(address) || isOlder(other, service)) taken.set(address, objectKey(other));
    }
    return taken;
  }

  async function write(service: Service, addresses: readonly string[]): Promise<void> {
    const { ingress: _, ...loadBalancer } = service.status?.loadBalancer ?? {};
    const ingress = addresses.map((ip) => ({ ip, ipMode: 'VIP' as const }));
    await objects.updateStatus(caches.services, service, { ...service.status, loadBalancer: { ...loadBalancer, ...(ingress.length === 0 ? {} : { ingress }) } });
  }

  async function give(service: Service, pool: readonly Cidr[]): Promise<void> {
    const before = heldBy(service);
    try {
      const addresses = addressesFor(service, pool, takenFrom(service), ({ text }) => next.get(text) ?? 1n);
      if (addresses.join() === before.join()) return;
      await write(service, addresses);
      for (const range of pool) for (const address of addresses) next.set(range.text, (indexIn(range, address) ?? (next.get(range.text) ?? 1n) - 1n) + 1n);
      tell(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer');
    } catch (error) {
      if (!(error instanceof NoAddress)) throw error;
      if (before.length > 0) await write(service, []);
      tell(service, 'Warning', 'SyncLoadBalancerFailed', `Error syncing load balancer: failed to ensure load balancer: ${error.message}`);
    }
  }

  return {
    name: 'load-balancers',
    // What one was given the next one is not.
    concurrency: 1,
    keys: keysOf(caches.services),
    wakes: [
      onChange(caches.services, ({ type, object, before }) => {
        const released = before !== undefined && (type === 'DELETED' || heldBy(before).some((address) => !heldBy(object).includes(address)));
        const own = type === 'DELETED' || !(isBalanced(object) || heldBy(object).length > 0) ? [] : [objectKey(object)];
        return released ? [...own, ...waiting()] : own;
      }),
      onClusterNetwork(caches, balanced),
    ],
    async reconcile(key) {
      const service = byKey(caches.services, key);
      const network = clusterNetworkOf(caches);
      if (service === undefined || network === undefined || service.metadata.deletionTimestamp !== undefined || !isOurs(service)) return;
      if (isBalanced(service)) await give(service, network.loadBalancerCidrs.map(parseCidr));
      else if (heldBy(service).length > 0) await write(service, []);
    },
  };
}

function isOlder({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;
}
