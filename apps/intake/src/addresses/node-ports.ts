import { ApiError, invalidValue, needsHealthCheck, type Cause, type Service } from '@roundsman/api';
import type { AddressBook, Asker } from './book.ts';

type Spec = Service['spec'];

export const nodePortsOf = ({ ports = [] }: Pick<Spec, 'ports'>): number[] => ports.flatMap(({ nodePort }) => nodePort ?? []);

/** Gives a service the ports on the nodes that its type has, or those that it asks for. Changes `spec`; returns what it cannot have. */
export function giveNodePorts(spec: Spec, old: Spec | undefined, asker: Asker, book: AddressBook): Cause[] {
  const causes: Cause[] = [];
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') causes.push(...giveServicePorts(spec, old, asker, book));
  if (causes.length > 0 || !needsHealthCheck(spec)) return causes;
  // One that it has is judged by the rules: it may not be changed.
  if (old === undefined || !needsHealthCheck(old)) giveHealthPort(spec, asker, book);
  return causes;
}

function giveServicePorts(spec: Spec, old: Spec | undefined, asker: Asker, book: AddressBook): Cause[] {
  const { ports = [] } = spec;
  const given = new Set(nodePortsOf(spec));
  for (const [index, { port, nodePort }] of ports.entries()) {
    if (nodePort === undefined) continue;
    // Once it has one, the rules say what is wrong with having it twice.
    const isTwice = old === undefined && ports.slice(0, index).some((one) => one.nodePort === nodePort && one.port !== port);
    const isForHealth = needsHealthCheck(spec) && nodePort === spec.healthCheckNodePort;
    const problem = isTwice || isForHealth ? 'provided port is already allocated' : book.portProblem(nodePort, asker);
    if (problem !== undefined) return [invalidValue(`spec.ports[${index}].nodePort`, nodePort, problem)];
  }
  if (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false) return [];
  for (const port of ports) {
    // The same number of two protocols (DNS) has the same port on the nodes.
    port.nodePort ??= ports.find((one) => one.port === port.port && one.protocol !== port.protocol && one.nodePort !== undefined)?.nodePort ?? freePort(book, given, 'a nodePort');
    given.add(port.nodePort);
  }
  return [];
}

function giveHealthPort(spec: Spec, asker: Asker, book: AddressBook): void {
  const used = new Set(nodePortsOf(spec));
  const { healthCheckNodePort: asked } = spec;
  if (asked === undefined) {
    spec.healthCheckNodePort = freePort(book, used, 'a HealthCheck NodePort 0');
    return;
  }
  const problem = used.has(asked) ? 'provided port is already allocated' : book.portProblem(asked, asker);
  if (problem !== undefined) throw new ApiError('InternalError', `Internal error occurred: failed to allocate requested HealthCheck NodePort ${asked}: ${problem}`);
}

function freePort(book: AddressBook, besides: ReadonlySet<number>, what: string): number {
  const port = book.freePort(besides);
  if (port === undefined) throw new ApiError('InternalError', `Internal error occurred: failed to allocate ${what}: range is full`);
  return port;
}
