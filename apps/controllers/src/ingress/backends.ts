import type { Ingress, Service } from '@roundsman/api';

/** A service that something leads to, and by which way. */
export interface Backend {
  readonly service: string;
  /** By number or by name. */
  readonly port: string | number | undefined;
  /** For people: `path shop.example.com/cart`. */
  readonly way: string;
}

export function backendsOf({ spec }: Ingress): Backend[] {
  const backends: Backend[] = [];
  const add = (backend: NonNullable<Ingress['spec']['defaultBackend']>, way: string): void => {
    const { service } = backend;
    if (service !== undefined) backends.push({ service: service.name, port: service.port.number ?? service.port.name, way });
  };
  if (spec.defaultBackend !== undefined) add(spec.defaultBackend, 'the default backend');
  for (const { host, http } of spec.rules ?? []) for (const { path, backend } of http?.paths ?? []) add(backend, `path ${host ?? '*'}${path ?? '/'}`);
  return backends;
}

export interface BackendProblem {
  readonly reason: 'ServiceNotFound' | 'ServicePortNotFound';
  readonly message: string;
}

/** What keeps requests from getting there; of each service and port once, with all ways that lead to it. */
export function problemsOf(backends: readonly Backend[], namespace: string, find: (name: string) => Service | undefined): BackendProblem[] {
  const ways = new Map<string, BackendProblem & { ways: string[] }>();
  for (const { service: name, port, way } of backends) {
    const service = find(name);
    const has = service?.spec.ports?.some((one) => one.port === port || one.name === port) === true;
    if (service !== undefined && has) continue;
    const problem: BackendProblem =
      service === undefined
        ? { reason: 'ServiceNotFound', message: `Service "${name}" does not exist in namespace "${namespace}"` }
        : { reason: 'ServicePortNotFound', message: `Service "${name}" has no port ${port ?? ''}` };
    const known = ways.get(problem.message);
    if (known === undefined) ways.set(problem.message, { ...problem, ways: [way] });
    else known.ways.push(way);
  }
  return [...ways.values()].map(({ reason, message, ways: all }) => ({ reason, message: `${message} (${all.join(', ')})` }));
}
