import type { Cause } from '../kind.ts';
import type { EndpointAddress, Endpoints, EndpointSubset } from '../kinds/endpoints/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem, qualifiedNameProblem, subdomainProblem } from '../names.ts';
import { inRange, named, required, type Findings } from './causes.ts';
import { ipCauses, specialIpCauses } from './ip.ts';

export function endpointsRules(object: KubeObject): Findings {
  const { subsets = [] } = object as unknown as Endpoints;
  return { causes: subsets.flatMap((subset, index) => subsetCauses(subset, `subsets[${index}]`)), warnings: [] };
}

function subsetCauses({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset, field: string): Cause[] {
  const causes = addresses.length + notReadyAddresses.length === 0 ? [required(field, 'must specify `addresses` or `notReadyAddresses`')] : [];
  for (const [member, list] of Object.entries({ addresses, notReadyAddresses })) causes.push(...list.flatMap((address, index) => addressCauses(address, `${field}.${member}[${index}]`)));
  for (const [index, { name, port, appProtocol }] of ports.entries()) {
    const at = `${field}.ports[${index}]`;
    if (name !== undefined) causes.push(...named(`${at}.name`, name, labelProblem(name)));
    else if (ports.length > 1) causes.push(required(`${at}.name`, ''));
    causes.push(...inRange(`${at}.port`, port, 1, 65_535));
    if (appProtocol !== undefined) causes.push(...named(`${at}.appProtocol`, appProtocol, qualifiedNameProblem(appProtocol)));
  }
  return causes;
}

const addressCauses = ({ ip, hostname, nodeName }: EndpointAddress, field: string): Cause[] => [
  ...ipCauses(`${field}.ip`, ip),
  ...(hostname === undefined ? [] : named(`${field}.hostname`, hostname, labelProblem(hostname))),
  ...(nodeName === undefined ? [] : named(`${field}.nodeName`, nodeName, subdomainProblem(nodeName))),
  ...specialIpCauses(`${field}.ip`, ip),
];
