import { ingressOrder, isServedIngress, type Ingress, type IngressClass } from '@roundsman/api';

/** The Ingresses that are served here, the oldest first. */
export const served = (ingresses: readonly Ingress[], classes: readonly IngressClass[]): Ingress[] => ingresses.filter((ingress) => isServedIngress(ingress, classes)).sort(ingressOrder);
