import { isIPv4, isIPv6 } from 'node:net';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../kinds/endpointslice/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem, labelValueProblem, qualifiedNameProblem, subdomainProblem } from '../names.ts';
import { duplicate, invalidValue, named, required, tooMany, type Findings } from './causes.ts';
import { specialIpCauses } from './ip.ts';

const most = { endpoints: 1000, addresses: 100, ports: 20_000, zones: 8, labels: 16 } as const;

export function endpointSliceRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { addressType, endpoints, ports } = object as unknown as EndpointSlice;
  const before = old as unknown as EndpointSlice | undefined;
  const causes = endpoints.length > most.endpoints ? [tooMany('endpoints', endpoints.length, most.endpoints)] : endpoints.flatMap((endpoint, index) => endpointCauses(endpoint, addressType, `endpoints[${index}]`));
  causes.push(...portCauses(ports, 'ports'));
  if (before !== undefined && before.addressType !== addressType) causes.push(invalidValue('addressType', addressType, 'field is immutable'));
  return { causes, warnings: addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [] };
}

function endpointCauses({ addresses, nodeName, hostname, deprecatedTopology = {}, hints }: Endpoint, type: EndpointSlice['addressType'], field: string): Cause[] {
  const at = `${field}.addresses`;
  const causes: Cause[] = [];
  if (addresses.length === 0) causes.push(required(at, 'must contain at least 1 address'));
  if (addresses.length > most.addresses) causes.push(tooMany(at, addresses.length, most.addresses));
  causes.push(...addresses.flatMap((address, index) => addressCauses(`${at}[${index}]`, address, type)));
  if (nodeName !== undefined) causes.push(...named(`${field}.nodeName`, nodeName, subdomainProblem(nodeName)));
  const labels = Object.entries(deprecatedTopology);
  if (labels.length > most.labels) causes.push(tooMany(`${field}.deprecatedTopology`, labels.length, most.labels));
  for (const [key, value] of labels) causes.push(...named(`${field}.deprecatedTopology`, key, qualifiedNameProblem(key)), ...named(`${field}.deprecatedTopology`, value, labelValueProblem(value)));
  if (hostname !== undefined) causes.push(...named(`${field}.hostname`, hostname, labelProblem(hostname)));
  return [...causes, ...zoneCauses((hints?.forZones ?? []).map(({ name }) => name), `${field}.hints.forZones`)];
}

function addressCauses(field: string, address: string, type: EndpointSlice['addressType']): Cause[] {
  if (type === 'FQDN') return domainCauses(field, address);
  const wrong = (type === 'IPv4' ? isIPv4 : isIPv6)(address) ? [] : [invalidValue(field, address, `must be a valid ${type} address`)];
  return [...wrong, ...specialIpCauses(field, address)];
}

function domainCauses(field: string, text: string): Cause[] {
  if (text === '') return [required(field, '')];
  const name = text.replace(/\.$/, '');
  const problem = subdomainProblem(name);
  if (problem !== undefined) return [invalidValue(field, name, problem)];
  const labels = name.split('.');
  if (labels.length < 2) return [invalidValue(field, name, 'should be a domain with at least two segments separated by dots')];
  return labels.flatMap((label) => named(field, label, labelProblem(label))).slice(0, 1);
}

function portCauses(ports: readonly EndpointPort[], field: string): Cause[] {
  if (ports.length > most.ports) return [tooMany(field, ports.length, most.ports)];
  const names = new Set<string>();
  return ports.flatMap(({ name, appProtocol }, index) => {
    const at = `${field}[${index}]`;
    const causes = name === '' ? [] : named(`${at}.name`, name, labelProblem(name));
    if (names.has(name)) causes.push(duplicate(`${at}.name`, name));
    names.add(name);
    return appProtocol === undefined ? causes : [...causes, ...named(`${at}.appProtocol`, appProtocol, qualifiedNameProblem(appProtocol))];
  });
}

function zoneCauses(zones: readonly string[], field: string): Cause[] {
  if (zones.length > most.zones) return [tooMany(field, zones.length, most.zones)];
  return zones.flatMap((zone, index) => [...(zones.indexOf(zone) < index ? [duplicate(`${field}[${index}].name`, zone)] : []), ...named(`${field}[${index}].name`, zone, labelValueProblem(zone))]);
}
