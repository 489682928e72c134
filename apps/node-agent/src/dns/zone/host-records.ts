import { isServedIngress, systemServices, type Dns, type Ingress, type IngressClass, type Service } from '@roundsman/api';
import type { ResourceRecord } from '../wire/record.ts';
import { addressRecord } from './addresses.ts';

/** Where the ingress proxies are reached: the load balancer's address, or, where the cluster gives none, that within the cluster. */
export function ingressAddresses(service: Service | undefined): string[] {
  const balanced = (service?.status?.loadBalancer.ingress ?? []).flatMap(({ ip }) => ip ?? []);
  return balanced.length > 0 ? balanced : (service?.spec.clusterIPs ?? []).filter((address) => address !== 'None' && address !== '');
}

export const isIngressService = ({ metadata }: Pick<Service, 'metadata'>): boolean => metadata.namespace === systemServices.namespace && metadata.name === systemServices.ingress;

export const hostOfDns = ({ spec }: Dns): string[] => [spec.host.toLowerCase()];

/** Of an Ingress that the cluster's own proxies serve; `*.` stands for one label. */
export function hostsOfIngress(ingress: Ingress, classes: readonly IngressClass[]): string[] {
  if (!isServedIngress(ingress, classes)) return [];
  return [...new Set((ingress.spec.rules ?? []).flatMap(({ host }) => (host === undefined || host === '' ? [] : host.toLowerCase())))];
}

export const hostRecords = (hosts: readonly string[], addresses: readonly string[], ttl: number): ResourceRecord[] => hosts.flatMap((host) => addresses.flatMap((address) => addressRecord(host, address, ttl)));
