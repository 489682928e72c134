/** How a list of a Kubernetes object is merged: item by item under a key, as a set of scalars, or whole. */
export type ListType = { readonly type: 'map'; readonly key: string } | { readonly type: 'set' } | { readonly type: 'atomic' };

/** Merge keys by the list's field name, as in the struct tags of the built-in kinds. */
const keys: Readonly<Record<string, string>> = {
  addresses: 'type',
  conditions: 'type',
  containers: 'name',
  env: 'name',
  ephemeralContainers: 'name',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  ownerReferences: 'uid',
  secrets: 'name',
  topologySpreadConstraints: 'topologyKey',
  volumeDevices: 'devicePath',
  volumeMounts: 'mountPath',
  volumes: 'name',
};
/** `path` holds field names only (no indices): `['spec', 'containers', 'ports']`. */
export function listType(path: readonly string[]): ListType {
  const field = path.at(-1) as string;
  if (field === 'finalizers') return { type: 'set' };
  // Ports of a container are told apart by containerPort, those of a Service by port.
  if (field === 'ports') return { type: 'map', key: ['containers', 'initContainers', 'ephemeralContainers'].includes(path.at(-2) ?? '') ? 'containerPort' : 'port' };
  const key = Object.hasOwn(keys, field) ? keys[field] : undefined;
  return key === undefined ? { type: 'atomic' } : { type: 'map', key };
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
