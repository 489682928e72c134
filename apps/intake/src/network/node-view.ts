import { nodeNetworkAnnotations, zoneLabel, type KubeObject, type Node } from '@roundsman/api';

const annotations = new Set<string>(Object.values(nodeNetworkAnnotations));

/** Of a node what decides how packets go: its addresses, pod CIDRs, zone and readiness, and what its agent tells of its network. */
export function networkNodeOf(node: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = node as Node;
  const { name, uid, resourceVersion } = metadata;
  const own = Object.entries(metadata.annotations ?? {}).filter(([key]) => annotations.has(key));
  const zone = metadata.labels?.[zoneLabel];
  const ready = (status?.conditions ?? []).filter(({ type }) => type === 'Ready');
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...(own.length > 0 && { annotations: Object.fromEntries(own) }), ...(zone !== undefined && { labels: { [zoneLabel]: zone } }) } as KubeObject['metadata'],
    spec: spec?.podCIDRs === undefined ? {} : { podCIDRs: spec.podCIDRs },
    status: { addresses: status?.addresses ?? [], conditions: ready.map(({ type, status: state, reason }) => ({ type, status: state, ...(reason !== undefined && { reason }) })) },
  };
}

/** Equal texts: nothing of it has changed that anybody is told. */
export function networkTextOf(node: KubeObject): string {
  const { metadata, ...rest } = networkNodeOf(node);
  return JSON.stringify([metadata.uid, metadata.annotations, metadata.labels, rest.spec, rest.status]);
}
