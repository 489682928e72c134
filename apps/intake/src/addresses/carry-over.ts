import { isExposed, needsHealthCheck, type Service } from '@roundsman/api';
import { isDeepStrictEqual } from 'node:util';
import { nodePortsOf } from './node-ports.ts';

type Spec = Service['spec'];

/** `clusterIP` and `clusterIPs` say the same, whichever of them was written. Changes `spec`. */
export function alignClusterIps(spec: Spec, old: Spec | undefined): void {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (old === undefined) {
    if (clusterIP !== '' && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const { clusterIP: before = '', clusterIPs: allBefore = [] } = old;
  if (clusterIP === before) {
    if (clusterIPs.length === 0 && allBefore.length > 0) spec.clusterIPs = [...allBefore];
    return;
  }
  if (!isDeepStrictEqual(clusterIPs, allBefore)) return;
  if (clusterIP === '') delete spec.clusterIPs;
  else spec.clusterIPs = [clusterIP];
}

/** Who writes a service again without what it was given keeps that. Changes `spec`. */
export function keepGiven(spec: Spec, old: Spec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if (old.clusterIP !== undefined) spec.clusterIP ??= old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && old.clusterIPs !== undefined) spec.clusterIPs = [...old.clusterIPs];
  }
  if (getsNodePorts(spec) && getsNodePorts(old)) {
    const before = nodePortsOf(old);
    const used = new Set(nodePortsOf(spec).filter((port) => before.includes(port)));
    const byName = new Map((old.ports ?? []).map(({ name = '', nodePort }) => [name, nodePort]));
    for (const port of spec.ports ?? []) {
      const own = byName.get(port.name ?? '');
      if (port.nodePort === undefined && own !== undefined && !used.has(own)) port.nodePort = own;
    }
  }
  if (needsHealthCheck(spec) && needsHealthCheck(old) && old.healthCheckNodePort !== undefined) spec.healthCheckNodePort ??= old.healthCheckNodePort;
}

/** What belongs to its former type goes with that, unless it was changed too: then the rules say what is wrong. Changes `service`. */
export function dropForeign(service: Service, old: Spec): void {
  const { spec } = service;
  if (old.type !== 'ExternalName' && spec.type === 'ExternalName') {
    if (spec.clusterIP === old.clusterIP && isDeepStrictEqual(spec.clusterIPs, old.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (isDeepStrictEqual(spec.ipFamilies, old.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  const before = nodePortsOf(old);
  if (hasNodePorts(old) && !hasNodePorts(spec) && nodePortsOf(spec).every((port) => before.includes(port))) for (const port of spec.ports ?? []) delete port.nodePort;
  if (needsHealthCheck(old) && !needsHealthCheck(spec) && spec.healthCheckNodePort === old.healthCheckNodePort) delete spec.healthCheckNodePort;
  if (spec.type !== 'LoadBalancer') {
    if (old.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === old.allocateLoadBalancerNodePorts) delete spec.allocateLoadBalancerNodePorts;
    if (old.type === 'LoadBalancer' && spec.loadBalancerClass === old.loadBalancerClass) delete spec.loadBalancerClass;
    service.status = { ...service.status, loadBalancer: {} };
  }
  if (isExposed(old) && !isExposed(spec) && spec.externalTrafficPolicy === old.externalTrafficPolicy) delete spec.externalTrafficPolicy;
}

const hasNodePorts = ({ type }: Spec): boolean => type === 'NodePort' || type === 'LoadBalancer';
const getsNodePorts = (spec: Spec): boolean => spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
