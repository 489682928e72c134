import { isIPv4 } from 'node:net';
import type { ContainerCreateOptions } from 'dockerode';
import { RuntimeProblem, type Owner, type SandboxNetwork, type SandboxSpec } from '../pod-runtime.ts';
import { sandboxLabels } from './names.ts';
import { pauseImage } from './pause/pause-image.ts';

/** What the daemon is asked for a pod's sandbox: it holds the pod's network, IPC and published ports. */
export function sandboxConfig(owner: Owner, spec: SandboxSpec): ContainerCreateOptions {
  const { hostname, network, hostPID, hostIPC, extraHosts, sysctls } = spec;
  const published = network.kind === 'docker' ? spec.ports.filter(({ hostPort }) => hostPort > 0) : [];
  // What the sandbox of a node has, those that join it have: name, hosts and name servers.
  const joins = network.kind === 'sandbox';
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const { containerPort, protocol, hostPort, hostIP } of published) (bindings[portKey(containerPort, protocol)] ??= []).push({ HostIp: hostIP, HostPort: String(hostPort) });
  return {
    Image: pauseImage,
    ...(joins ? {} : { Hostname: hostname }),
    Labels: sandboxLabels(owner, spec),
    ExposedPorts: Object.fromEntries(Object.keys(bindings).map((key) => [key, {}])),
    HostConfig: {
      NetworkMode: modeOf(network),
      IpcMode: hostIPC ? 'host' : 'shareable',
      PidMode: hostPID ? 'host' : '',
      PortBindings: bindings,
      ExtraHosts: joins ? [] : [...extraHosts],
      Sysctls: { ...sysctls },
      LogConfig: { Type: 'none', Config: {} },
      CpuShares: 2,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
    },
    ...(network.kind === 'docker' ? { NetworkingConfig: { EndpointsConfig: { [network.network]: { IPAMConfig: fixed(network.addresses) } } } } : {}),
  };
}

function modeOf(network: SandboxNetwork): string {
  switch (network.kind) {
    case 'sandbox':
      return `container:${network.id}`;
    case 'docker':
      return network.network;
    default:
      return network.kind;
  }
}

const fixed = (addresses: readonly string[]): { IPv4Address?: string; IPv6Address?: string } => Object.assign({}, ...addresses.map((address) => (isIPv4(address) ? { IPv4Address: address } : { IPv6Address: address })));

const portKey = (port: number, protocol: string): string => `${port}/${protocol.toLowerCase()}`;

/** How daemons say that a port is taken: by another container, by a program, by either (from version 28 on), without saying which. */
const portTaken = [
  /Bind for \S*:(\d+) failed: port is already allocated/,
  /listen \w+ \S*:(\d+): bind: address already in use/,
  /bind host port (?:for )?(?:\[[^\]]*\]|[^:\s]*):(\d+)\S*: address already in use/,
  /address already in use/,
];

/** In clear words where a port is taken, on this daemon or by any program. */
export function sandboxProblem(error: RuntimeProblem, spec: SandboxSpec): RuntimeProblem {
  if (error.code === 'Unavailable') return error;
  const taken = portTaken.map((pattern) => pattern.exec(error.message)).find((match) => match !== null);
  if (taken === undefined) return new RuntimeProblem('Sandbox', error.message, { cause: error });
  const [, number] = taken;
  const wanted = spec.ports.filter(({ hostPort }) => hostPort > 0 && (number === undefined || hostPort === Number(number)));
  const ports = wanted.map(({ hostPort, protocol, hostIP }) => `${hostIP === '' ? '' : `${hostIP}:`}${hostPort}/${protocol}`).join(', ');
  return new RuntimeProblem('PortInUse', `host port ${ports || number} is already in use on this node: ${error.message}`, { cause: error });
}
