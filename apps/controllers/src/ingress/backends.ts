import type { Ingress, Service } from '@roundsman/api';

/** Where something leads, and by which way. */
export interface Backend {
  /** Name of a service; undefined: it leads to something else. */
  readonly service: string | undefined;
  /** What else: `Bucket icons`. */
  readonly other?: string;
  /** By number or by name. */
  readonly port: string | number | undefined;
  /** For people: `path shop.example.com/cart`. */
  readonly way: string;
}

export function backendsOf({ spec }: Ingress): Backend[] {
  const backends: Backend[] = [];
  const add = (backend: NonNullable<Ingress['spec']['defaultBackend']>, way: string): void => {
    const { service, resource } = backend;
    if (service !== undefined) backends.push({ service: service.name, port: service.port.number ?? service.port.name, way });
    else if (resource !== undefined) backends.push({ service: undefined, other: `${resource.kind} ${resource.name}`, port: undefined, way });
  };
  if (spec.defaultBackend !== undefined) add(spec.defaultBackend, 'the default backend');
  for (const { host, http } of spec.rules ?? []) for (const { path, backend } of http?.paths ?? []) add(backend, `path ${host ?? '*'}${path ?? '/'}`);
  return backends;
}

export interface BackendProblem {
  readonly reason: 'ServiceNotFound' | 'ServicePortNotFound' | 'BackendNotServed';
  readonly message: string;
}

/** What keeps requests from getting there; of each backend once, with all ways that lead to it. */
export function problemsOf(backends: readonly Backend[], namespace: string, find: (name: string) => Service | undefined): BackendProblem[] {
  const ways = new Map<string, BackendProblem & { ways: string[] }>();
  for (const backend of backends) {
    const problem = problemOf(backend, namespace, find);
    if (problem === undefined) continue;
    const { way } = backend;
    const known = ways.get(problem.message);
    if (known === undefined) ways.set(problem.message, { ...problem, ways: [way] });
    else known.ways.push(way);
  }
  return [...ways.values()].map(({ reason, message, ways: all }) => ({ reason, message: `${message} (${all.join(', ')})` }));
}

function problemOf({ service: name, other, port }: Backend, namespace: string, find: (name: string) => Service | undefined): BackendProblem | undefined {
  if (name === undefined) return { reason: 'BackendNotServed', message: `The backend ${other ?? ''} is no Service, and requests are forwarded to Services only` };
  const service = find(name);
  if (service === undefined) return { reason: 'ServiceNotFound', message: `Service "${name}" does not exist in namespace "${namespace}"` };
  if (service.spec.type === 'ExternalName') return { reason: 'BackendNotServed', message: `Service "${name}" is of type ExternalName, and requests are forwarded to endpoints only` };
  return service.spec.ports?.some((one) => one.port === port || one.name === port) === true ? undefined : { reason: 'ServicePortNotFound', message: `Service "${name}" has no port ${port ?? ''}` };
}
