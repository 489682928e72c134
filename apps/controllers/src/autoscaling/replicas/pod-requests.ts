import { quantityMillis, type Pod } from '@roundsman/api';
import { MetricError } from '../metrics/metric-error.ts';

/** What each pod requests of a resource, in thousandths, by name: all containers that run as long as the pod, or the one that is named. Throws a MetricError when one requests none. */
export function podRequests(pods: readonly Pod[], resource: string, container: string | undefined): Map<string, number> {
  return new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, resource, container)]));
}

function requestOf({ metadata, spec }: Pod, resource: string, container: string | undefined): number {
  const lasting = [...spec.containers, ...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')];
  let sum = 0;
  for (const { name, resources } of lasting) {
    if (container !== undefined && container !== name) continue;
    const request = resources?.requests?.[resource];
    if (request === undefined) throw new MetricError(`missing request for ${resource} in container ${name} of Pod ${metadata.name}`);
    sum += quantityMillis(request);
  }
  return sum;
}
