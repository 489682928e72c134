import type { Cause } from '../kind.ts';
import type { Dns, DnsPath } from '../kinds/dns/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem, letterLabelProblem, subdomainProblem } from '../names.ts';
import { duplicate, invalidValue, named, required, type Findings } from './causes.ts';
import { isAddress } from './ip.ts';
import { pathCauses } from './paths.ts';
import { portReferenceCauses } from './pod/ports.ts';

/** What one object can see of itself; that a host belongs to one object only is judged where all are known (intake). */
export function dnsRules(object: KubeObject): Findings {
  const { host, paths } = (object as Dns).spec;
  const causes = hostCauses('spec.host', host);
  if (paths.length === 0) causes.push(required('spec.paths', 'at least one path must be given'));
  const seen = new Set<string>();
  for (const [index, one] of paths.entries()) {
    causes.push(...onePathCauses(one, `spec.paths[${index}]`));
    // `/a` and `/a/` are answered by the same service.
    const path = one.path.length > 1 ? one.path.replace(/\/$/, '') : one.path;
    if (seen.has(path)) causes.push(duplicate(`spec.paths[${index}].path`, one.path));
    seen.add(path);
  }
  return { causes, warnings: [] };
}

function hostCauses(field: string, host: string): Cause[] {
  if (host === '') return [required(field, '')];
  if (isAddress(host)) return [invalidValue(field, host, 'must be a DNS name, not an IP address')];
  const problem = subdomainProblem(host);
  return problem === undefined ? host.split('.').flatMap((label) => named(field, host, label.length > 63 ? labelProblem(label) : undefined)) : [invalidValue(field, host, problem)];
}

const onePathCauses = ({ path, service }: DnsPath, field: string): Cause[] => [
  ...pathCauses(`${field}.path`, path),
  ...(/[?#\s]/.test(path) ? [invalidValue(`${field}.path`, path, 'must not contain spaces, a query or a fragment')] : []),
  ...(service.name === '' ? [required(`${field}.service.name`, '')] : named(`${field}.service.name`, service.name, letterLabelProblem(service.name))),
  ...portReferenceCauses(`${field}.service.port`, service.port),
];
