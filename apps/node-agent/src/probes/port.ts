import type { Container } from '@roundsman/api';

/** A port by number, or by the name that the container gives it. Throws for what is neither. */
export function portNumber(port: number | string, container: Pick<Container, 'ports'>): number {
  const named = (container.ports ?? []).find(({ name }) => name === port);
  const number = named === undefined ? Number(port) : named.containerPort;
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(typeof port === 'string' && Number.isNaN(number) ? `couldn't find port: ${JSON.stringify(port)}` : `invalid port number: ${port}`);
}

/** `[fd00::1]:80`, `10.0.0.1:80` */
export const endpoint = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

/** Why a connection was not made, as Go words it. */
export function dialProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  const words: Record<string, string> = {
    ECONNREFUSED: 'connect: connection refused',
    EHOSTUNREACH: 'connect: no route to host',
    ENETUNREACH: 'connect: network is unreachable',
    ETIMEDOUT: 'connect: connection timed out',
  };
  const why = words[error.code ?? ''];
  if (why !== undefined) return `dial tcp ${endpoint(host, port)}: ${why}`;
  if (error.code === 'ECONNRESET') return 'read: connection reset by peer';
  if (error.code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
  return error.message === 'socket hang up' ? 'EOF' : error.message;
}
