import { isServedIngress, type Ingress, type IngressClass } from '@roundsman/api';

/** The Ingresses that are served here, the oldest first. */
export const served = (ingresses: readonly Ingress[], classes: readonly IngressClass[]): Ingress[] => ingresses.filter((ingress) => isServedIngress(ingress, classes)).sort(ageOrder);

/** Older first; of equal age by namespace and name, so that all proxies agree. */
function ageOrder({ metadata: a }: Ingress, { metadata: b }: Ingress): number {
  const textOrder = (x: string, y: string): number => (x < y ? -1 : Number(x > y));
  return textOrder(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || textOrder(a.namespace ?? '', b.namespace ?? '') || textOrder(a.name, b.name);
}
