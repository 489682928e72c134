import type { Service, ServiceSpec } from './schema.ts';

/** Seconds for which a client keeps its pod after its last connection, unless the service says so. */
const affinitySeconds = 10_800;

/** Defaults that depend on other members; addresses and ports that the server chooses are given by intake. Changes `service`. */
export function completeService(service: Service): void {
  const { spec } = service;
  completePorts(spec);
  if (spec.healthCheckNodePort === 0) delete spec.healthCheckNodePort;
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySeconds } };
  if (isExposed(spec)) spec.externalTrafficPolicy ??= 'Cluster';
  // Nothing goes to what is only a name.
  if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy;
  else spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  service.status ??= { loadBalancer: {} };
  for (const one of service.status.loadBalancer.ingress ?? []) if (one.ip !== undefined) one.ipMode ??= 'VIP';
}

function completePorts({ ports = [] }: ServiceSpec): void {
  for (const port of ports) {
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port;
    if (port.nodePort === 0) delete port.nodePort;
  }
}

/** Whether it is meant to be reached from outside of the cluster. */
export const isExposed = ({ type, externalIPs = [] }: ServiceSpec): boolean => type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && externalIPs.length > 0);
