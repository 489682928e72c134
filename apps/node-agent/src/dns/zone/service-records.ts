import type { EndpointSlice, Service } from '@roundsman/api';
import { wireName } from '../wire/names.ts';
import { recordOf, type ResourceRecord } from '../wire/record.ts';
import { addressRecord, dashed, reverseName } from './addresses.ts';
import { distinct } from './record-index.ts';

export interface ServiceRecords {
  /** Below the domain of the cluster. */
  readonly names: readonly ResourceRecord[];
  /** Of its addresses, or those of its endpoints. */
  readonly reverse: readonly ResourceRecord[];
}

export interface Zone {
  readonly domain: string;
  /** Seconds. */
  readonly ttl: number;
}

/** What the Kubernetes DNS specification says that there is of a Service. */
export function serviceRecords(service: Service, slices: readonly EndpointSlice[], zone: Zone): ServiceRecords {
  const { type, externalName, clusterIP } = service.spec;
  const name = serviceName(service, zone);
  if (type === 'ExternalName') {
    const target = (externalName ?? '').replace(/\.$/, '');
    // Kubernetes takes labels that are longer than DNS can say.
    return { names: wireName(target) === undefined ? [] : [recordOf({ type: 'CNAME', name, ttl: zone.ttl, data: target })], reverse: [] };
  }
  return clusterIP === 'None' ? headlessRecords(name, slices, zone) : clusterRecords(service, name, zone);
}

export const serviceName = ({ metadata }: Pick<Service, 'metadata'>, { domain }: Zone): string => `${metadata.name}.${metadata.namespace}.svc.${domain}`.toLowerCase();

function clusterRecords({ spec }: Service, name: string, { ttl }: Zone): ServiceRecords {
  const addresses = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((address) => address !== '');
  // Not given yet.
  if (addresses.length === 0) return { names: [], reverse: [] };
  const ports = (spec.ports ?? []).flatMap(({ name: portName = '', protocol, port }) => portRecord(name, portName, protocol, port, name, ttl));
  return { names: distinct([...addresses.flatMap((address) => addressRecord(name, address, ttl)), ...ports]), reverse: addresses.flatMap((address) => pointerRecord(address, name, ttl)) };
}

function headlessRecords(name: string, slices: readonly EndpointSlice[], { ttl }: Zone): ServiceRecords {
  const names: ResourceRecord[] = [];
  const reverse: ResourceRecord[] = [];
  for (const { endpoints, ports = [], addressType } of slices) {
    if (addressType === 'FQDN') continue;
    for (const { addresses, conditions, hostname = '' } of endpoints) {
      // What is not said counts as ready.
      if (conditions?.ready === false) continue;
      for (const address of addresses) {
        const own = `${hostname === '' ? dashed(address) : hostname.toLowerCase()}.${name}`;
        names.push(...addressRecord(name, address, ttl), ...addressRecord(own, address, ttl));
        for (const { name: portName = '', protocol = 'TCP', port } of ports) if (port !== undefined) names.push(...portRecord(name, portName, protocol, port, own, ttl));
        reverse.push(...pointerRecord(address, own, ttl));
      }
    }
  }
  return { names: distinct(names), reverse: distinct(reverse) };
}

/** Unnamed ports have none. */
function portRecord(service: string, portName: string, protocol: string, port: number, target: string, ttl: number): ResourceRecord[] {
  return portName === '' ? [] : [recordOf({ type: 'SRV', name: `_${portName}._${protocol}.${service}`, ttl, data: { priority: 0, weight: 100, port, target } })];
}

function pointerRecord(address: string, name: string, ttl: number): ResourceRecord[] {
  const at = reverseName(address);
  return at === undefined ? [] : [recordOf({ type: 'PTR', name: at, ttl, data: name })];
}
