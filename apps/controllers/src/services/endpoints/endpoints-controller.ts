import { isDeepStrictEqual } from 'node:util';
import type { Endpoints, KubeObject, Service } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { isNamespaceEnding } from '../../workloads/pods.ts';
import { endpointWakes, podsOf } from '../pods/concerned-services.ts';
import { isServedByPods } from '../pods/service-pods.ts';
import { endpointsManagedByLabel, keepers, labelsOf, triggerTimeAnnotation } from '../labels.ts';
import { subsetsOf } from './subsets.ts';
import { TriggerTimes } from '../pods/trigger-times.ts';

const managedBy = keepers.endpoints;
const overCapacity = 'endpoints.kubernetes.io/over-capacity';

const isOurs = ({ metadata }: KubeObject): boolean => metadata.labels?.[endpointsManagedByLabel] === managedBy;

/** Keeps the older form of what EndpointSlices tell, for those who read that: `kubectl get endpoints`. */
export function endpoints(deps: Deps): LoopDefinition {
  const { caches, objects } = deps;
  const times = new TriggerTimes();
  const nodeOf = (name: string) => caches.nodes.get(undefined, name);
  /** Their services were seen to go: theirs go, too, whoever made them. */
  const orphaned = new Set<string>();

  async function write(key: string, service: Service, stored: (Endpoints & KubeObject) | undefined): Promise<void> {
    const pods = podsOf(caches, service);
    const { subsets, truncated } = subsetsOf(service, pods, nodeOf);
    const since = times.since(key, service, pods);
    const { [overCapacity]: _, ...before } = stored?.metadata.annotations ?? {};
    const labels = { ...labelsOf(service), [endpointsManagedByLabel]: managedBy };
    const kept = { ...before, ...(truncated ? { [overCapacity]: 'truncated' } : {}) };
    const same = stored !== undefined && isDeepStrictEqual(stored.subsets ?? [], subsets) && isDeepStrictEqual(stored.metadata.labels, labels) && isDeepStrictEqual(stored.metadata.annotations ?? {}, kept);
    if (same) return;
    const annotations = { ...kept, ...(since === undefined ? {} : { [triggerTimeAnnotation]: since }) };
    if (stored !== undefined) await objects.update(caches.endpoints, { ...stored, subsets, metadata: { ...stored.metadata, labels, annotations } });
    else {
      const { name, namespace } = service.metadata;
      await objects.create(caches.endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels, annotations }, subsets }).catch((error: unknown) => {
        if (!isNamespaceEnding(error)) throw error;
      });
    }
  }

  return {
    name: 'endpoints',
    concurrency: 8,
    keys: () => new Set([...keysOf(caches.services)(), ...caches.endpoints.list().filter(isOurs).map(objectKey)]),
    wakes: [
      onChange(caches.services, ({ type, object }) => {
        if (type === 'DELETED') orphaned.add(objectKey(object));
        else orphaned.delete(objectKey(object));
        return [];
      }),
      ...endpointWakes(caches),
      onChange(caches.endpoints, ({ object, before }) => (isOurs(before ?? object) ? [objectKey(object)] : [])),
    ],
    async reconcile(key) {
      const service = byKey(caches.services, key);
      const stored = byKey(caches.endpoints, key);
      if (service !== undefined && isServedByPods(service)) {
        if (service.metadata.deletionTimestamp === undefined) await write(key, service, stored);
        return;
      }
      times.forget(key);
      if (service === undefined) {
        if (stored !== undefined && (isOurs(stored) || orphaned.has(key))) await objects.delete(caches.endpoints, stored);
        orphaned.delete(key);
      } else if (stored !== undefined && isOurs(stored)) {
        // It has no selector any more: from now on a person says what is behind it, and begins with what was.
        const { [endpointsManagedByLabel]: _, ...labels } = stored.metadata.labels ?? {};
        await objects.update(caches.endpoints, { ...stored, metadata: { ...stored.metadata, labels } });
      }
    },
  };
}
