import type { PodSpec } from '@roundsman/api';

/** A port of the node that a pod takes for itself. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = '0.0.0.0';

export function hostPortsOf({ containers, initContainers = [] }: PodSpec): HostPort[] {
  const running = [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')];
  return running.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol }) => (hostPort === undefined || hostPort <= 0 ? [] : [{ ip: hostIP === undefined || hostIP === '' ? anyAddress : hostIP, protocol: protocol ?? 'TCP', port: hostPort }])),
  );
}

/** The same port and protocol, on one address or where one of them takes all addresses. */
export const portsClash = (one: HostPort, other: HostPort): boolean =>
  one.port === other.port && one.protocol === other.protocol && (one.ip === other.ip || one.ip === anyAddress || other.ip === anyAddress);
