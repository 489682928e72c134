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
export const isServedIngress = (ingress: Pick<Ingress, 'metadata' | 'spec'>, classes: readonly IngressClass[]): boolean => ingressClassOf(ingress, classes)?.spec.controller === ingressController;

/** Undefined: the one that it names does not exist or, where it names none, there is no default. */
export function ingressClassOf({ metadata, spec }: Pick<Ingress, 'metadata' | 'spec'>, classes: readonly IngressClass[]): IngressClass | undefined {
  const name = spec.ingressClassName ?? metadata.annotations?.[legacyIngressClassAnnotation];
  return name === undefined ? defaultIngressClass(classes) : classes.find((one) => one.metadata.name === name);
}

/** What an Ingress is of that names no class: of several the newest. */
export function defaultIngressClass(classes: readonly IngressClass[]): IngressClass | undefined {
  return classes
    .filter(({ metadata }) => metadata.annotations?.[defaultIngressClassAnnotation] === 'true')
    .sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : a.metadata.name < b.metadata.name ? -1 : 1))[0];
}
