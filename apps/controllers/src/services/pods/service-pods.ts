import { isIPv6 } from 'node:net';
import { isPodReady, zoneLabel, type Endpoint, type Node, type Pod, type Service } from '@roundsman/api';
import { readiness } from '../../nodes/taints.ts';

export type NodeOf = (name: string) => Node | undefined;

/** It is made by the cluster what is behind it: it has a selector, and its name is no alias. */
export const isServedByPods = ({ spec }: Service): boolean => spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0;

/** Asked of every pod of a namespace for each service that is looked at: nothing is made on the way. */
export function selectsPod({ spec }: Service, labels: Pod['metadata']['labels'] = {}): boolean {
  const { selector = {} } = spec;
  for (const key in selector) if (!Object.hasOwn(labels, key) || labels[key] !== selector[key]) return false;
  return true;
}

/** The pod's address of a family; undefined while it has none. */
export function addressOf({ status }: Pod, family: 'IPv4' | 'IPv6'): string | undefined {
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP === undefined ? [] : [status.podIP]);
  return ips.find((ip) => isIPv6(ip) === (family === 'IPv6'));
}

/** Ready as far as anybody can know: of what runs on a node that is not heard of, nobody does. */
export function isServing(pod: Pod, nodeOf: NodeOf): boolean {
  const node = nodeOf(pod.spec.nodeName ?? '');
  return isPodReady(pod) && (node === undefined || readiness(node) !== 'Unknown');
}

/** The number of a port of the service on this pod; undefined when no container has a port of that name. */
export function targetPortOf(pod: Pod, { targetPort, port, protocol }: NonNullable<Service['spec']['ports']>[number]): number | undefined {
  if (typeof targetPort !== 'string') return targetPort ?? port;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { ports = [] } of [...pod.spec.containers, ...sidecars]) {
    const named = ports.find(({ name, protocol: spoken }) => name === targetPort && spoken === protocol);
    if (named !== undefined) return named.containerPort;
  }
  return undefined;
}

/** Its name below that of the service (`web-0.web`), if it has one there. */
export function hostnameIn(service: Service, { metadata, spec }: Pod): string | undefined {
  const below = spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace;
  return below && spec.hostname !== undefined && spec.hostname !== '' ? spec.hostname : undefined;
}

/** What both forms of an endpoint say of the pod. */
export function placeOf(service: Service, pod: Pod): Pick<Endpoint, 'hostname' | 'nodeName' | 'targetRef'> {
  const { namespace, name, uid } = pod.metadata;
  const hostname = hostnameIn(service, pod);
  const { nodeName } = pod.spec;
  return { ...(hostname === undefined ? {} : { hostname }), ...(nodeName === undefined ? {} : { nodeName }), targetRef: { kind: 'Pod', ...(namespace === undefined ? {} : { namespace }), name, uid } };
}

export const zoneOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.[zoneLabel];
