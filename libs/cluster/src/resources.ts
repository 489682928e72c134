import type { ClusterResource } from './cluster.ts';

const resource = (apiVersion: string, kind: string, plural: string, namespaced = true): ClusterResource => ({ apiVersion, kind, plural, namespaced });

/** Kinds of Kubernetes that task runtimes are made from and followed by. */
export const resources = {
  namespaces: resource('v1', 'Namespace', 'namespaces', false),
  nodes: resource('v1', 'Node', 'nodes', false),
  pods: resource('v1', 'Pod', 'pods'),
  secrets: resource('v1', 'Secret', 'secrets'),
  services: resource('v1', 'Service', 'services'),
  endpointSlices: resource('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  daemonSets: resource('apps/v1', 'DaemonSet', 'daemonsets'),
  deployments: resource('apps/v1', 'Deployment', 'deployments'),
  ingresses: resource('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  ingressClasses: resource('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', false),
} as const satisfies Record<string, ClusterResource>;
