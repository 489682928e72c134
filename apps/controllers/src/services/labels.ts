import { isHeadless, serviceNameLabel, type Service } from '@roundsman/api';

/** Names who keeps a slice: the others leave it alone. */
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** On Endpoints: names who keeps them; a person's have none. */
export const endpointsManagedByLabel = 'endpoints.kubernetes.io/managed-by';
/** Who keeps what is made from pods: slices, Endpoints; and slices made from Endpoints. */
export const keepers = { slices: 'endpointslice-controller.k8s.io', endpoints: 'endpoint-controller', mirrors: 'endpointslicemirroring-controller.k8s.io' } as const;
export const headlessLabel = 'service.kubernetes.io/headless';
/** Since when what a slice tells was so: from then on nodes should have acted on it. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

const ownLabels: ReadonlySet<string> = new Set([serviceNameLabel, managedByLabel, headlessLabel]);

/** Those of the service, but for those that have a meaning on slices. */
export function labelsOf(service: Service): Record<string, string> {
  const given = Object.entries(service.metadata.labels ?? {}).filter(([name]) => !ownLabels.has(name));
  return { ...Object.fromEntries(given), ...(isHeadless(service.spec) ? { [headlessLabel]: '' } : {}) };
}
