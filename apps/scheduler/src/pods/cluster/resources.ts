import { parseQuantity, quantityMillis, type PodSpec } from '@roundsman/api';

/** Whole numbers by name of the resource: cpu in thousandths of a core, everything else in its base unit, rounded up. */
export type Resources = ReadonlyMap<string, number>;
type Quantities = Readonly<Record<string, string | number>>;

/** What a container without a request counts as where nodes are compared, so that many such pods do not all go to one node. */
const assumedRequests: Resources = new Map([
  ['cpu', 100],
  ['memory', 200 * 1024 ** 2],
]);

export function resourcesOf(quantities: Quantities | undefined): Map<string, number> {
  return new Map(Object.entries(quantities ?? {}).map(([name, quantity]) => [name, name === 'cpu' ? quantityMillis(String(quantity)) : Math.ceil(parseQuantity(String(quantity)))]));
}

/** What is set aside for a pod: the sum over what runs together, or what one of its init containers needs if that is more, and the overhead. */
export const requestsOf = (spec: PodSpec): Resources => podRequests(spec, new Map());
/** The same with something for containers that ask for nothing: only for comparing nodes. */
export const comparedRequestsOf = (spec: PodSpec): Resources => podRequests(spec, assumedRequests);

function podRequests(spec: PodSpec, missing: Resources): Resources {
  const total = new Map<string, number>();
  for (const container of spec.containers) add(total, containerRequests(container, missing));
  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of spec.initContainers ?? []) {
    const own = new Map(containerRequests(container, missing));
    if (container.restartPolicy === 'Always') {
      // Runs on beside everything after it.
      add(total, own);
      add(sidecars, own);
      raise(starting, sidecars);
    } else {
      add(own, sidecars);
      raise(starting, own);
    }
  }
  raise(total, starting);
  add(total, resourcesOf(spec.overhead));
  return total;
}

function containerRequests({ resources }: PodSpec['containers'][number], missing: Resources): Resources {
  const requests = resourcesOf(resources?.requests);
  for (const [name, amount] of missing) if (!requests.has(name)) requests.set(name, amount);
  return requests;
}

export function add(total: Map<string, number>, more: Resources): void {
  for (const [name, amount] of more) total.set(name, (total.get(name) ?? 0) + amount);
}

export function subtract(total: Map<string, number>, less: Resources): void {
  for (const [name, amount] of less) {
    const left = (total.get(name) ?? 0) - amount;
    if (left === 0) total.delete(name);
    else total.set(name, left);
  }
}

function raise(total: Map<string, number>, least: Resources): void {
  for (const [name, amount] of least) total.set(name, Math.max(total.get(name) ?? 0, amount));
}
