/**
 * How the lists of objects are merged: item by item under keys, as a set of scalars, or whole. Kubernetes says so twice, for
 * strategic merge patches (struct tags) and for server-side apply (list types), and not always the same. Paths hold field names
 * only, no indices: `['spec', 'containers', 'ports']`.
 */
export type ListType = { readonly type: 'map'; readonly keys: readonly [string, ...string[]] } | { readonly type: 'set' } | { readonly type: 'atomic' };

/** What both agree on: keys by the list's field name. */
const shared: Readonly<Record<string, string>> = {
  addresses: 'type',
  conditions: 'type',
  containers: 'name',
  env: 'name',
  ephemeralContainers: 'name',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  ownerReferences: 'uid',
  podIPs: 'ip',
  resourceClaims: 'name',
  resourceClaimStatuses: 'name',
  schedulingGates: 'name',
  secrets: 'name',
  volumeDevices: 'devicePath',
  volumeMounts: 'mountPath',
  volumes: 'name',
};
const containerLists: readonly string[] = ['containers', 'initContainers', 'ephemeralContainers'];
const atomic: ListType = { type: 'atomic' };
const map = (...keys: readonly [string, ...string[]]): ListType => ({ type: 'map', keys });

/** For strategic merge patches: lists without a key are replaced. */
export function patchedList(path: readonly string[]): ListType {
  const field = path.at(-1) as string;
  if (field === 'finalizers' || field === 'podCIDRs') return { type: 'set' };
  // Ports of a container are told apart by containerPort, those of a Service by port; those of an EndpointSlice, at the top, are one value.
  if (field === 'ports' && path.length > 1) return map(containerLists.includes(path.at(-2) ?? '') ? 'containerPort' : 'port');
  if (field === 'topologySpreadConstraints') return map('topologyKey');
  if (field === 'hostIPs') return map('ip');
  return sharedList(path);
}

/** For server-side apply. */
export function appliedList(path: readonly string[]): ListType {
  const field = path.at(-1) as string;
  if (field === 'podCIDRs' || (field === 'finalizers' && path.at(-2) === 'metadata')) return { type: 'set' };
  if (field === 'ports' && path.length > 1) return map(containerLists.includes(path.at(-2) ?? '') ? 'containerPort' : 'port', 'protocol');
  if (field === 'topologySpreadConstraints') return map('topologyKey', 'whenUnsatisfiable');
  if (field === 'claims' && path.at(-2) === 'resources') return map('name');
  return sharedList(path);
}

function sharedList(path: readonly string[]): ListType {
  const field = path.at(-1) as string;
  // Those of a ServiceAccount, at the top, are one value.
  if (field === 'imagePullSecrets' && path.length === 1) return atomic;
  const key = Object.hasOwn(shared, field) ? shared[field] : undefined;
  return key === undefined ? atomic : map(key);
}

/** Objects that server-side apply takes as one value: selectors and references. */
const wholeObjects: ReadonlySet<string> = new Set([
  'configMapKeyRef', 'fieldRef', 'involvedObject', 'labelSelector', 'namespaceSelector', 'nodeSelector', 'resourceFieldRef', 'secretKeyRef', 'selector',
]);
export function isAppliedWhole(path: readonly string[]): boolean {
  const field = path.at(-1) as string;
  if (field === 'requiredDuringSchedulingIgnoredDuringExecution') return path.at(-2) === 'nodeAffinity';
  return wholeObjects.has(field);
}

/** What a key of an item means when it is not there. */
const keyDefaults: Readonly<Record<string, Json>> = { protocol: 'TCP' };
export const keyOf = (item: JsonObject, key: string): Json | undefined => item[key] ?? keyDefaults[key];
/** The keys of an item and their values; undefined when one is missing. */
export function identityOf(item: Json, keys: readonly string[]): JsonObject | undefined {
  if (!isObject(item)) return undefined;
  const identity: JsonObject = {};
  for (const key of keys) {
    const value = keyOf(item, key);
    if (value === undefined) return undefined;
    identity[key] = value;
  }
  return identity;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
