import type { AdmissionContext } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { forbiddenField, invalidValue, required, type Findings } from './causes.ts';

/** A ConfigMap or Secret that a task names; `nameField` and `namespaceField` are where it does. */
interface Reference {
  readonly resource: 'configmaps' | 'secrets';
  readonly nameField: string;
  readonly namespaceField: string;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

/**
 * The object named, when it may be used and exists. Another namespace than the task's own is refused (a task would read what
 * its author may not), but kdoctor tasks have no namespace and may name any. A missing one is a warning: apply order is free.
 */
function resolve(reference: Reference, task: KubeObject, context: AdmissionContext, { causes, warnings }: Findings): KubeObject | undefined {
  const { resource, name, namespace, nameField, namespaceField } = reference;
  if (name === undefined) {
    if (namespace !== undefined) causes.push(required(nameField, 'a namespace alone names nothing'));
    return undefined;
  }
  const own = task.metadata.namespace ?? 'default';
  if (namespace !== undefined && namespace !== own && context.view === undefined) {
    causes.push(forbiddenField(namespaceField, `must be the task's own namespace, ${JSON.stringify(own)}`));
    return undefined;
  }
  const found = context.get(resource, namespace ?? own, name);
  if (found === undefined) warnings.push(`${nameField}: ${resource} "${name}" does not exist in namespace "${namespace ?? own}" yet; rounds fail until it does`);
  return found;
}

/** The request body of a task: the ConfigMap's data as one flat JSON object, as kdoctor sends it. */
export const bodyOf = (configMap: KubeObject): string => JSON.stringify((configMap as { data?: Record<string, string> }).data ?? {});

export function bodyRules(task: KubeObject, target: { bodyConfigmapName?: string | undefined; bodyConfigmapNamespace?: string | undefined }, context: AdmissionContext, found: Findings): void {
  const nameField = 'spec.target.bodyConfigmapName';
  const configMap = resolve(
    { resource: 'configmaps', nameField, namespaceField: 'spec.target.bodyConfigmapNamespace', name: target.bodyConfigmapName, namespace: target.bodyConfigmapNamespace },
    task,
    context,
    found,
  );
  if (configMap === undefined) return;
  const bytes = Buffer.byteLength(bodyOf(configMap));
  if (bytes > context.limits.maxBodyBytes) found.causes.push(invalidValue(nameField, target.bodyConfigmapName, `the body has ${bytes} bytes; the limit is ${context.limits.maxBodyBytes}`));
}

/** Keys of a TLS secret that are looked at. */
export const tlsKeys = ['ca.crt', 'tls.crt', 'tls.key'] as const;

/** What is wrong with a TLS secret, never showing a value; undefined when nothing. */
export function tlsSecretProblem(secret: KubeObject): string | undefined {
  const data = (secret as { data?: Record<string, string> }).data ?? {};
  const present = tlsKeys.filter((key) => key in data);
  if (present.length === 0) return `the secret has none of the keys ${tlsKeys.join(', ')}`;
  for (const key of present) {
    const text = Buffer.from(data[key]!, 'base64').toString('latin1');
    if (text.trim() === '') return `key ${key} of the secret is empty`;
    if (!text.includes('-----BEGIN ')) return `key ${key} of the secret is not PEM`;
  }
  if (('tls.crt' in data) !== ('tls.key' in data)) return 'the secret must have tls.crt and tls.key together';
  return undefined;
}

export function tlsRules(task: KubeObject, target: { tlsSecretName?: string | undefined; tlsSecretNamespace?: string | undefined }, context: AdmissionContext, found: Findings): void {
  const nameField = 'spec.target.tlsSecretName';
  const secret = resolve(
    { resource: 'secrets', nameField, namespaceField: 'spec.target.tlsSecretNamespace', name: target.tlsSecretName, namespace: target.tlsSecretNamespace },
    task,
    context,
    found,
  );
  const problem = secret && tlsSecretProblem(secret);
  if (problem !== undefined) found.causes.push(invalidValue(nameField, target.tlsSecretName, problem));
}
