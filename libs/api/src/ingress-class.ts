import type { Ingress } from './kinds/ingress/schema.ts';
import { defaultIngressClassAnnotation, type IngressClass } from './kinds/ingressclass/schema.ts';

/** `spec.controller` of the classes whose Ingresses the cluster serves itself. */
export const ingressController = 'roundsman.io/ingress';

/** On an Ingress: `true` takes what a rule's path matched off requests before they are forwarded. */
export const stripPrefixAnnotation = 'roundsman.io/strip-prefix';

/** From before there was `spec.ingressClassName`; still found in many manifests. */
export const legacyIngressClassAnnotation = 'kubernetes.io/ingress.class';

/**
 * Whether the cluster itself serves an Ingress. By its class: `spec.ingressClassName`, else the old annotation; one that names none is of the default class. Those of classes of others, or of classes that do not exist, are nobody's business here.
 */
export function isServedIngress({ metadata, spec }: Pick<Ingress, 'metadata' | 'spec'>, classes: readonly IngressClass[]): boolean {
  const name = spec.ingressClassName ?? metadata.annotations?.[legacyIngressClassAnnotation] ?? defaultIngressClass(classes)?.metadata.name;
  return classes.some((one) => one.metadata.name === name && one.spec.controller === ingressController);
}

/** What an Ingress is of that names no class: of several the newest. */
export function defaultIngressClass(classes: readonly IngressClass[]): IngressClass | undefined {
  return classes
    .filter(({ metadata }) => metadata.annotations?.[defaultIngressClassAnnotation] === 'true')
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : a.metadata.name < b.metadata.name ? -1 : 1))[0];
}
