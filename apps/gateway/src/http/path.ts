import { badRequest } from '@roundsman/api';

/** What a Kubernetes-style path names: a resource, one object of it, or a part of one. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace?: string;
  readonly resource: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Segments, decoded; a path that cannot be decoded is refused. */
export function segments(path: string): string[] {
  try {
    return path.split('/').filter((part) => part !== '').map(decodeURIComponent);
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} holds a broken percent-encoding`);
  }
}

/**
 * `/api/v1/…` and `/apis/GROUP/VERSION/…`. Undefined when the path names no resource (group and version lists included).
 * `namespaces/NAME` is itself an object; `namespaces/NS/RESOURCE` is a resource in it.
 */
export function resourcePath(parts: readonly string[]): ResourcePath | undefined {
  const core = parts[0] === 'api';
  if (!core && parts[0] !== 'apis') return undefined;
  const [group, version, ...rest] = core ? ['', ...parts.slice(1)] : parts.slice(1);
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  const ofNamespace = rest[0] === 'namespaces' && (rest.length < 3 || (rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize')));
  if (rest[0] === 'namespaces' && !ofNamespace) {
    const [, namespace, resource, name, subresource, ...more] = rest;
    if (more.length > 0) return undefined;
    return { group, version, namespace: namespace as string, resource: resource as string, ...named(name, subresource) };
  }
  const [resource, name, subresource, ...more] = rest;
  if (more.length > 0) return undefined;
  return { group, version, resource: resource as string, ...named(name, subresource) };
}

const named = (name: string | undefined, subresource: string | undefined): { name?: string; subresource?: string } => ({
  ...(name === undefined ? {} : { name }),
  ...(subresource === undefined ? {} : { subresource }),
});
