import type { HTTPIngressPath, Ingress } from './kinds/ingress/schema.ts';
import { canonicalPath } from './url-path.ts';

/** Of several that want the same the first one has it. Older first; of equal age by namespace and name, so that all agree. */
export function ingressOrder({ metadata: a }: Pick<Ingress, 'metadata'>, { metadata: b }: Pick<Ingress, 'metadata'>): number {
  const textOrder = (x: string, y: string): number => (x < y ? -1 : Number(x > y));
  return textOrder(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || textOrder(a.namespace ?? '', b.namespace ?? '') || textOrder(a.name, b.name);
}

/** How a rule's path is compared; two that are equal in it are one to requests. `ImplementationSpecific` counts as a prefix; a prefix has no slashes at its end, that of `/` is empty. */
export function comparedPath({ path = '/', pathType }: Pick<HTTPIngressPath, 'path' | 'pathType'>): { readonly match: 'exact' | 'prefix'; readonly path: string } {
  const canonical = canonicalPath(path) ?? path;
  return pathType === 'Exact' ? { match: 'exact', path: canonical } : { match: 'prefix', path: canonical.replace(/\/+$/, '') };
}
