import { messages } from '@roundsman/bus';
import type { Deps, LoopDefinition, Wake } from '../loop.ts';

/** Where Kubernetes keeps the leases of nodes. */
export const leaseNamespace = 'kube-node-lease';
const renewMs = 10_000;
const leaseSeconds = 40;

/** A lease for every node that is heard of, renewed while it is: tools read from it when a node last gave a sign of life. */
export function nodeLeases({ bus, caches, objects }: Deps): LoopDefinition {
  const heardAtMs = new Map<string, number>();
  /** By a clock that is never put back. */
  const renewedAtMs = new Map<string, number>();
  const heartbeats: Wake = async (wake) => {
    const subscription = await bus.subscribe(messages.nodeBeat, {}, ({ payload: { node } }) => {
      heardAtMs.set(node, Date.now());
      if (performance.now() - (renewedAtMs.get(node) ?? -Infinity) >= renewMs) wake(node);
    });
    return () => subscription.stop();
  };
  return {
    name: 'node-leases',
    keys: () => heardAtMs.keys(),
    wakes: [heartbeats],
    async reconcile(name) {
      const node = caches.nodes.get(undefined, name);
      const atMs = heardAtMs.get(name);
      // Not registered yet: the next heartbeat comes.
      if (node === undefined || atMs === undefined) return;
      renewedAtMs.set(name, performance.now());
      const renewTime = new Date(atMs).toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime };
      const stored = caches.leases.get(leaseNamespace, name);
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid }];
      const metadata = { name, namespace: leaseNamespace, ownerReferences };
      if (stored === undefined) await objects.create(caches.leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
      else await objects.update(caches.leases, { ...stored, metadata: { ...stored.metadata, ownerReferences }, spec: { ...stored.spec, ...spec } });
    },
  };
}
