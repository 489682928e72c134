import type { ClusterResource } from './cluster.ts';

/** `/api/v1` or `/apis/apps/v1`. */
export const groupPath = (apiVersion: string): string => (apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`);

/** Path of all objects of a kind (in one namespace), or of one of them. */
export function objectPath({ apiVersion, plural, namespaced }: ClusterResource, namespace: string | undefined, name?: string): string {
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${groupPath(apiVersion)}${within}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}
