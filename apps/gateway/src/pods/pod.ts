import { ApiError, badRequest, type Container, type Pod } from '@roundsman/api';

/** The container meant: the one named, or the only one there is. 400 in Kubernetes' words. */
export function containerOf({ metadata, spec }: Pod, asked: string | undefined): string {
  const containers: readonly Pick<Container, 'name'>[] = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  if (asked !== undefined) {
    if (!containers.some(({ name }) => name === asked)) throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
    return asked;
  }
  const [only, ...more] = spec.containers;
  if (only !== undefined && more.length === 0) return only.name;
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${containers.map(({ name }) => name).join(' ')}]`);
}

/** The node that it runs on; 400 when it has none yet. */
export function nodeOf({ metadata, spec }: Pod): string {
  if (!spec.nodeName) throw badRequest(`pod ${metadata.name} does not have a host assigned`);
  return spec.nodeName;
}

/** 503 without Retry-After: kubectl would try ten times in silence before it says anything. */
export const nodeUnreachable = (node: string, why: string): ApiError => new ApiError('ServiceUnavailable', `node ${JSON.stringify(node)} cannot be reached: ${why}`);
