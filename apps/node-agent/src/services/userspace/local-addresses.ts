import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { commandIn, environment, type NetworkNamespace } from '../network-namespace.ts';

const run = promisify(execFile);
const isIPv6 = (range: string): boolean => range.includes(':');
/** IPv6 lets a program answer only on addresses that a device has, unless told otherwise. */
const bindAnywhere = '/proc/sys/net/ipv6/ip_nonlocal_bind';
const routeOf = (verb: string, range: string): string => `ip ${isIPv6(range) ? '-6 ' : ''}route ${verb} local ${range} dev lo`;

/** AnyIP: what is sent to any address of the range is for this namespace. Rejects without the right to it. */
export const makeLocal = (namespace: NetworkNamespace, range: string): Promise<unknown> => shell(namespace, `${routeOf('replace', range)}${isIPv6(range) ? `; echo 1 >${bindAnywhere}` : ''}`);

export const unmakeLocal = (namespace: NetworkNamespace, range: string): Promise<unknown> => shell(namespace, `${routeOf('del', range)}${isIPv6(range) ? `; echo 0 >${bindAnywhere}` : ''}`);

/** What an administrator runs where the agent may not. */
export const commandFor = (range: string): string => `${routeOf('add', range)}${isIPv6(range) ? ' && sysctl -w net.ipv6.ip_nonlocal_bind=1' : ''}`;

function shell(namespace: NetworkNamespace, script: string): Promise<unknown> {
  const [program, args] = commandIn(namespace, 'sh', ['-ec', script]);
  return run(program, [...args], { env: environment() });
}
