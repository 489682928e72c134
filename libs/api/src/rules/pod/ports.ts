import type { Cause } from '../../kind.ts';
import type { Container, ContainerPort } from '../../kinds/pod/container.ts';
import { duplicate, inRange, invalidValue, required } from '../causes.ts';

const highestPort = 65_535;

/** What is wrong with the name of a port (IANA service name), in Kubernetes' words; all of it. */
export function portNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(name)) problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)');
  if (name.includes('--')) problems.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

/** A port by number, or by the name that a container gave it. */
export const portReferenceCauses = (field: string, port: number | string): Cause[] =>
  typeof port === 'number' ? inRange(field, port, 1, highestPort) : portNameProblems(port).map((problem) => invalidValue(field, port, problem));

export function portCauses(ports: readonly ContainerPort[], field: string): Cause[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort }, index) => {
    const at = `${field}[${index}]`;
    const causes: Cause[] = [];
    if (name !== undefined && name !== '') {
      const problems = portNameProblems(name);
      if (problems.length > 0) causes.push(...problems.map((problem) => invalidValue(`${at}.name`, name, problem)));
      else if (names.has(name)) causes.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    if (containerPort === 0) causes.push(required(`${at}.containerPort`, ''));
    else causes.push(...inRange(`${at}.containerPort`, containerPort, 1, highestPort));
    if (hostPort !== undefined && hostPort !== 0) causes.push(...inRange(`${at}.hostPort`, hostPort, 1, highestPort));
    return causes;
  });
}

/** Two containers of a pod cannot listen on one port of the node. */
export function hostPortCauses(containers: readonly Container[], field: string): Cause[] {
  const taken = new Set<string>();
  return containers.flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ protocol, hostIP = '', hostPort }, at) => {
      if (hostPort === undefined || hostPort === 0) return [];
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) return [duplicate(`${field}[${index}].ports[${at}].hostPort`, key)];
      taken.add(key);
      return [];
    }),
  );
}

/** In the network of the node a port is what it is. In templates it may be left out: pods get it when they are made. */
export const hostNetworkCauses = (containers: readonly Container[], field: string, isPod: boolean): Cause[] =>
  containers.flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ containerPort, hostPort = 0 }, at) =>
      (isPod || hostPort !== 0) && hostPort !== containerPort ? [invalidValue(`${field}[${index}].ports[${at}].hostPort`, hostPort, 'must match `containerPort` when `hostNetwork` is true')] : [],
    ),
  );
