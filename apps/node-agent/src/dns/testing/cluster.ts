import type { ClusterNetwork } from '@roundsman/api';
import { NetworkState } from '@roundsman/network';

export const clusterNetwork: ClusterNetwork = {
  podCidrs: ['10.244.0.0/16', 'fd00:10:244::/48'], nodePrefixes: [24, 64], serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'], loadBalancerCidrs: ['10.97.0.0/24'],
  nodePorts: { first: 30_000, last: 32_767 }, domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw',
};

/** The state of a network as a test wants it; each change is one of a higher version. */
export class TestCluster {
  readonly state = new NetworkState();
  #version = 1;

  constructor(network: ClusterNetwork | null = clusterNetwork) {
    if (network !== null) this.state.replace(network, []);
  }

  service(name: string, spec: Record<string, unknown>, status: Record<string, unknown> = { loadBalancer: {} }): void {
    this.#put('services', { apiVersion: 'v1', kind: 'Service', spec: { type: 'ClusterIP', sessionAffinity: 'None', ...spec }, status }, name);
  }

  /** Of a Service by its name; `web` or `kube-system/web`. */
  slice(name: string, service: string, more: { endpoints: object[]; ports?: object[]; addressType?: string }): void {
    const [, own = ''] = split(service);
    this.#put('endpointslices.discovery.k8s.io', { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', ports: [], ...more }, `${split(service)[0]}/${name}`, { 'kubernetes.io/service-name': own });
  }

  dns(name: string, host: string): void {
    this.#put('dnses.roundsman.io', { apiVersion: 'roundsman.io/v1', kind: 'DNS', spec: { host, paths: [] } }, name);
  }

  ingress(name: string, hosts: string[], ingressClassName = 'roundsman'): void {
    this.#put('ingresses.networking.k8s.io', { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', spec: { ingressClassName, rules: hosts.map((host) => ({ host })) } }, name);
  }

  ingressClass(name: string, controller: string): void {
    this.#put('ingressclasses.networking.k8s.io', { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', spec: { controller } }, name);
  }

  delete(resource: string, name: string): void {
    const [namespace, own] = split(name);
    this.#version += 1;
    this.state.apply('DELETED', resource, { metadata: { namespace, name: own, uid: name, resourceVersion: String(this.#version) } });
  }

  #put(resource: string, object: object, name: string, labels?: Record<string, string>): void {
    const [namespace, own] = split(name);
    this.#version += 1;
    const isCluster = resource.startsWith('ingressclasses');
    this.state.apply('MODIFIED', resource, { ...object, metadata: { ...(isCluster ? {} : { namespace }), name: own, uid: name, resourceVersion: String(this.#version), ...(labels === undefined ? {} : { labels }) } });
  }
}

const split = (name: string): [namespace: string, name: string] => (name.includes('/') ? [name.split('/')[0]!, name.split('/')[1]!] : ['default', name]);
