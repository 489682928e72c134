import { isIPv4 } from 'node:net';
import type { Pod } from '@roundsman/api';
import { RuntimeProblem } from '@roundsman/containers';
import type { HostPort } from '../services/host-ports.ts';
import type { NetworkNamespace } from '../services/network-namespace.ts';
import { listeningPorts } from './kernel/listeners.ts';

/** The ports of a pod that are to be reached by its node, in each family that both have. */
export function hostPortsOf({ spec }: Pod, addresses: readonly string[]): HostPort[] {
  return [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP = '', containerPort, protocol }) => {
      if (hostPort === 0) return [];
      // All addresses of a family are all that the node has in it.
      const all = hostIP === '' || hostIP === '0.0.0.0' || hostIP === '::';
      const family = addresses.filter((address) => hostIP === '' || isIPv4(address) === isIPv4(hostIP));
      return family.map((address) => ({ protocol: protocol as HostPort['protocol'], hostIP: all ? '' : hostIP, hostPort, address, containerPort }));
    }),
  );
}

/** A port that a program of the node listens on is not taken from it. Throws PortInUse. (Those of other pods were refused when the pod was admitted.) */
export async function refuseTaken(ports: readonly HostPort[], place: NetworkNamespace | undefined): Promise<void> {
  const pid = /^\/proc\/(\d+)\//.exec(place?.path ?? '')?.[1];
  for (const { hostPort, protocol, hostIP } of ports) {
    const taken = await listeningPorts(pid === undefined ? 'self' : Number(pid), protocol);
    if (taken.has(hostPort)) throw new RuntimeProblem('PortInUse', `host port ${hostIP === '' ? '' : `${hostIP}:`}${hostPort}/${protocol} is already in use on this node: a program listens on it`);
  }
}
