import type { Cause } from '../../kind.ts';
import type { EnvFromSource, EnvVar, ObjectFieldSelector, ResourceFieldSelector } from '../../kinds/pod/environment.ts';
import { compareQuantities } from '../../quantity.ts';
import { qualifiedNameProblem, subdomainProblem } from '../../names.ts';
import { invalidValue, named, notSupported, required } from '../causes.ts';

/** Any printable ASCII but the sign that ends the name. */
function nameCauses(field: string, name: string): Cause[] {
  if (/^[ -<>-~]*$/.test(name)) return [];
  return [invalidValue(field, name, "a valid environment variable name must consist only of printable ASCII characters other than '='")];
}

export const environmentCauses = (variables: readonly EnvVar[], field: string): Cause[] =>
  variables.flatMap((variable, index) => {
    const at = `${field}[${index}]`;
    const name = variable.name === '' ? [required(`${at}.name`, '')] : nameCauses(`${at}.name`, variable.name);
    return [...name, ...valueFromCauses(variable, `${at}.valueFrom`)];
  });

const environmentFields = ['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName', 'status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'];
/** Fields that files of a volume may show. */
export const volumeFields = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'];

function valueFromCauses({ value, valueFrom }: EnvVar, field: string): Cause[] {
  if (valueFrom === undefined) return [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  const causes: Cause[] = [];
  if (fieldRef !== undefined) causes.push(...fieldRefCauses(fieldRef, environmentFields, `${field}.fieldRef`));
  if (resourceFieldRef !== undefined) causes.push(...resourceRefCauses(resourceFieldRef, `${field}.resourceFieldRef`, false));
  if (configMapKeyRef !== undefined) causes.push(...keyRefCauses(configMapKeyRef, `${field}.configMapKeyRef`));
  if (secretKeyRef !== undefined) causes.push(...keyRefCauses(secretKeyRef, `${field}.secretKeyRef`));
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef].filter((source) => source !== undefined).length;
  if (sources === 0) causes.push(invalidValue(field, '', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'));
  else if (value !== undefined && value !== '') causes.push(invalidValue(field, '', 'may not be specified when `value` is not empty'));
  else if (sources > 1) causes.push(invalidValue(field, '', 'may not have more than one field specified at a time'));
  return causes;
}

/** A key of a ConfigMap or Secret. */
function keyRefCauses({ name = '', key }: { readonly name?: string | undefined; readonly key: string }, field: string): Cause[] {
  const causes: Cause[] = [];
  if (name === '') causes.push(required(`${field}.name`, ''));
  else causes.push(...named(`${field}.name`, name, subdomainProblem(name)));
  if (key === '') causes.push(required(`${field}.key`, ''));
  else if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key)) causes.push(invalidValue(`${field}.key`, key, configKeyProblem));
  return causes;
}
const configKeyProblem = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

export function fieldRefCauses({ fieldPath }: ObjectFieldSelector, fields: readonly string[], field: string): Cause[] {
  if (fieldPath === '') return [required(`${field}.fieldPath`, '')];
  const subscripted = /^(.*)\['(.*)'\]$/.exec(fieldPath);
  if (subscripted === null) {
    if (fields.includes(fieldPath)) return [];
    if (!knownFields.includes(fieldPath)) return [invalidValue(`${field}.fieldPath`, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`)];
    return [notSupported(`${field}.fieldPath`, fieldPath, fields)];
  }
  const [, path = '', key = ''] = subscripted;
  if (path === 'metadata.annotations') return named(field, key.toLowerCase(), qualifiedNameProblem(key.toLowerCase()));
  if (path === 'metadata.labels') return named(field, key, qualifiedNameProblem(key));
  return [invalidValue(`${field}.fieldPath`, fieldPath, `error converting fieldPath: field label does not support subscript: ${fieldPath}`)];
}
const knownFields = [...new Set([...environmentFields, ...volumeFields, 'spec.restartPolicy', 'spec.schedulerName', 'status.phase'])];

const resourceFields = ['limits.cpu', 'limits.ephemeral-storage', 'limits.memory', 'requests.cpu', 'requests.ephemeral-storage', 'requests.memory'];
const cpuDivisors = ['1m', '1'];
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function resourceRefCauses({ containerName = '', resource, divisor }: ResourceFieldSelector, field: string, volume: boolean): Cause[] {
  if (volume && containerName === '') return [required(`${field}.containerName`, '')];
  if (resource === '') return [required(`${field}.resource`, '')];
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (!resourceFields.includes(resource) && !hugePages) return [notSupported(`${field}.resource`, resource, resourceFields)];
  const allowed = resource.endsWith('.cpu') ? cpuDivisors : byteDivisors;
  if (compareQuantities(divisor, '0') === 0 || allowed.includes(divisor)) return [];
  const what = resource.slice(resource.indexOf('.') + 1).replace('ephemeral-', 'local ephemeral ').replace(/^hugepages-.*/, 'hugepages');
  return [invalidValue(`${field}.divisor`, resource, `only divisor's values ${allowed.join(what === 'cpu' ? ' and ' : ', ')} are supported with the ${what} resource`)];
}

export function envFromCauses(sources: readonly EnvFromSource[], field: string): Cause[] {
  return sources.flatMap(({ prefix = '', configMapRef, secretRef }, index) => {
    const at = `${field}[${index}]`;
    const causes = nameCauses(`${at}.prefix`, prefix);
    for (const [member, source] of Object.entries({ configMapRef, secretRef })) {
      if (source === undefined) continue;
      const name = source.name ?? '';
      if (name === '') causes.push(required(`${at}.${member}.name`, ''));
      else causes.push(...named(`${at}.${member}.name`, name, subdomainProblem(name)));
    }
    if (configMapRef === undefined && secretRef === undefined) causes.push(invalidValue(field, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (configMapRef !== undefined && secretRef !== undefined) causes.push(invalidValue(field, '', 'may not have more than one field specified at a time'));
    return causes;
  });
}
