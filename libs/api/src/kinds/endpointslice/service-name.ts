import type { EndpointSlice } from './schema.ts';

/** Label of a slice: the Service that it belongs to. */
export const serviceNameLabel = 'kubernetes.io/service-name';

/** `namespace/name` of the Service that a slice belongs to. */
export function serviceKeyOf({ metadata }: Pick<EndpointSlice, 'metadata'>): string | undefined {
  const name = metadata.labels?.[serviceNameLabel];
  return name === undefined ? undefined : `${metadata.namespace ?? ''}/${name}`;
}
