import { defaultIngressClassAnnotation, type Ingress, type KubeObject } from '@roundsman/api';
import type { AdmissionView } from './outcome.ts';

/** An ingress that names no class, also not in the older way, gets the default one; of several the newest. Changes `object`. */
export function completeIngress(object: KubeObject, view: AdmissionView, old: KubeObject | undefined): void {
  const { metadata, spec } = object as Ingress;
  if (old !== undefined || spec.ingressClassName !== undefined || metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined) return;
  const [newest] = view
    .list('ingressclasses.networking.k8s.io')
    .filter((one) => one.metadata.annotations?.[defaultIngressClassAnnotation] === 'true')
    .toSorted((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp) || a.metadata.name.localeCompare(b.metadata.name));
  if (newest !== undefined) spec.ingressClassName = newest.metadata.name;
}
