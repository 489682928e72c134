import type { Container, EnvFromSource, EnvVar, Pod } from '@roundsman/api';
import { expand } from './expansion.ts';
import type { Materials } from './materials.ts';
import { podField, resourceField, type PodFacts } from './pod-fields.ts';

/** What the pod asks for cannot be had: told as CreateContainerConfigError. */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
}

export interface Environment {
  readonly variables: ReadonlyMap<string, string>;
  /** Keys left out because they cannot be names of variables, by the object that they are in (`ConfigMap ns/name`). */
  readonly skipped: ReadonlyMap<string, readonly string[]>;
}

/** A relaxed name, as Kubernetes 1.32 takes it: any printable ASCII but the equals sign. */
const nameOfVariable = /^[\x20-\x3c\x3e-\x7e]+$/;

/**
 * The environment of a container: envFrom first, then env in its order, each seeing what was defined before and where Services are (`links`), which come last where nothing
 * else has their names. Throws ConfigProblem.
 */
export function environmentOf(pod: Pod, container: Container, materials: Materials, facts: PodFacts, links: ReadonlyMap<string, string>): Environment {
  const variables = new Map<string, string>();
  const skipped = new Map<string, string[]>();
  for (const source of container.envFrom ?? []) addAll(source, pod, materials, variables, skipped);
  for (const variable of container.env ?? []) {
    const value = valueOf(variable, pod, container, materials, facts, { get: (name) => variables.get(name) ?? links.get(name) });
    if (value !== undefined) variables.set(variable.name, value);
  }
  for (const [name, value] of links) if (!variables.has(name)) variables.set(name, value);
  return { variables, skipped };
}

function addAll({ prefix = '', configMapRef, secretRef }: EnvFromSource, pod: Pod, materials: Materials, variables: Map<string, string>, skipped: Map<string, string[]>): void {
  const [reference, kind] = configMapRef === undefined ? [secretRef, 'Secret' as const] : [configMapRef, 'ConfigMap' as const];
  if (reference === undefined) return;
  const data = (kind === 'Secret' ? materials.secrets : materials.configMaps).get(reference.name ?? '');
  if (data === undefined) {
    if (reference.optional === true) return;
    throw notFound(kind, reference.name);
  }
  for (const [key, bytes] of [...data].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const name = prefix + key;
    if (nameOfVariable.test(name)) variables.set(name, bytes.toString());
    else {
      const from = `${kind} ${pod.metadata.namespace}/${reference.name}`;
      skipped.set(from, [...(skipped.get(from) ?? []), name]);
    }
  }
}

/** undefined: optional, and not there. */
function valueOf({ value, valueFrom }: EnvVar, pod: Pod, container: Container, materials: Materials, facts: PodFacts, before: Pick<ReadonlyMap<string, string>, 'get'>): string | undefined {
  if (valueFrom === undefined) return expand(value ?? '', before);
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef !== undefined) return orProblem(() => podField(pod, fieldRef.fieldPath, facts));
  if (resourceFieldRef !== undefined) return orProblem(() => resourceField(pod, resourceFieldRef, container, facts));
  const [reference, kind] = configMapKeyRef === undefined ? [secretKeyRef, 'Secret' as const] : [configMapKeyRef, 'ConfigMap' as const];
  if (reference === undefined) return '';
  const data = (kind === 'Secret' ? materials.secrets : materials.configMaps).get(reference.name ?? '');
  const bytes = data?.get(reference.key);
  if (bytes !== undefined) return bytes.toString();
  if (reference.optional === true) return undefined;
  throw data === undefined ? notFound(kind, reference.name) : new ConfigProblem(`couldn't find key ${reference.key} in ${kind} ${pod.metadata.namespace}/${reference.name}`);
}

const notFound = (kind: 'ConfigMap' | 'Secret', name = ''): ConfigProblem => new ConfigProblem(`${kind.toLowerCase()} "${name}" not found`);

function orProblem(read: () => string): string {
  try {
    return read();
  } catch (error) {
    throw new ConfigProblem((error as Error).message, { cause: error });
  }
}
