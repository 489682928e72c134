import { defaultIngressClassAnnotation, type Ingress, type IngressClass } from '@roundsman/api';

/** `spec.controller` of the classes that are served here. */
export const ingressController = 'roundsman.io/ingress';
/** From before there was `spec.ingressClassName`; still found in many manifests. */
const legacyAnnotation = 'kubernetes.io/ingress.class';

/**
 * The Ingresses that are served here, the oldest first. By class: `spec.ingressClassName`, else the old annotation; one that names none belongs to the default
 * class. Ingresses of classes of others, or of classes that do not exist, are not touched.
 */
export function served(ingresses: readonly Ingress[], classes: readonly IngressClass[]): Ingress[] {
  const ours = new Set(classes.filter(({ spec }) => spec.controller === ingressController).map(({ metadata }) => metadata.name));
  const fallback = classes
    .filter(({ metadata }) => metadata.annotations?.[defaultIngressClassAnnotation] === 'true')
    .sort((a, b) => ageOrder(b, a))[0]?.metadata.name;
  return ingresses
    .filter(({ metadata, spec }) => ours.has(spec.ingressClassName ?? metadata.annotations?.[legacyAnnotation] ?? fallback ?? ''))
    .sort(ageOrder);
}

/** Older first; of equal age by namespace and name, so that all proxies agree. */
function ageOrder({ metadata: a }: Ingress | IngressClass, { metadata: b }: Ingress | IngressClass): number {
  const textOrder = (x: string, y: string): number => (x < y ? -1 : Number(x > y));
  return textOrder(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || textOrder(a.namespace ?? '', b.namespace ?? '') || textOrder(a.name, b.name);
}
