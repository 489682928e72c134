import { defaultIngressClass, legacyIngressClassAnnotation, type Ingress, type IngressClass, type KubeObject } from '@roundsman/api';
import type { AdmissionView } from './outcome.ts';

/** An ingress that names no class, also not in the older way, gets the default one. Changes `object`. */
export function completeIngress(object: KubeObject, view: AdmissionView, old: KubeObject | undefined): void {
  const { metadata, spec } = object as Ingress;
  if (old !== undefined || spec.ingressClassName !== undefined || metadata.annotations?.[legacyIngressClassAnnotation] !== undefined) return;
  const usual = defaultIngressClass(view.list('ingressclasses.networking.k8s.io') as readonly IngressClass[]);
  if (usual !== undefined) spec.ingressClassName = usual.metadata.name;
}
