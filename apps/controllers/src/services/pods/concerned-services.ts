import { isDeepStrictEqual } from 'node:util';
import { isPodEnded, isPodReady, type Node, type Pod, type Service } from '@roundsman/api';
import type { Seen } from '@roundsman/reconcile';
import type { Caches } from '../../caches.ts';
import { objectKey, onChange, onOwnChange, type Wake } from '../../loop.ts';
import { readiness } from '../../nodes/taints.ts';
import { isServedByPods, selectsPod, zoneOf } from './service-pods.ts';

/** What endpoints tell of a pod. */
const told = (pod: Pod): unknown[] => [pod.metadata.uid, isPodReady(pod), isPodEnded(pod), pod.metadata.deletionTimestamp !== undefined, pod.status?.podIP, pod.status?.podIPs, pod.spec.nodeName];

/** Without one it is no endpoint. */
const hasAddress = ({ status }: Pod): boolean => status?.podIP !== undefined || (status?.podIPs ?? []).length > 0;

/** Wakes the services whose endpoints a change of a service, of a pod or of a pod's node may change. */
export function endpointWakes(caches: Pick<Caches, 'services' | 'pods' | 'nodes'>): Wake[] {
  const selecting = ({ metadata }: Pod): string[] =>
    caches.services.by('namespace', metadata.namespace ?? '').filter((service) => isServedByPods(service) && selectsPod(service, metadata.labels)).map(objectKey);

  function ofPod({ type, object, before }: Seen<Pod>): string[] {
    if (!hasAddress(object) && (before === undefined || !hasAddress(before))) return [];
    if (before === undefined || type === 'DELETED') return selecting(object);
    const moved = !isDeepStrictEqual(before.metadata.labels, object.metadata.labels);
    if (!moved) return isDeepStrictEqual(told(before), told(object)) ? [] : selecting(object);
    return [...new Set([...selecting(before), ...selecting(object)])];
  }
  function ofNode({ type, object, before }: Seen<Node>): string[] {
    if (before !== undefined && type !== 'DELETED' && (readiness(before) === 'Unknown') === (readiness(object) === 'Unknown') && zoneOf(before) === zoneOf(object)) return [];
    return [...new Set(caches.pods.by('node', object.metadata.name).flatMap(selecting))];
  }
  return [onOwnChange(caches.services), onChange(caches.pods, ofPod), onChange(caches.nodes, ofNode)];
}

export const podsOf = (caches: Pick<Caches, 'pods'>, service: Service): Pod[] => caches.pods.by('namespace', service.metadata.namespace ?? '').filter(({ metadata }) => selectsPod(service, metadata.labels));
