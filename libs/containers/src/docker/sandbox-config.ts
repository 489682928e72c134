import type { ContainerCreateOptions } from 'dockerode';
import { RuntimeProblem, type SandboxSpec } from '../pod-runtime.ts';
import { sandboxLabels, type Owner } from './names.ts';
import { pauseImage } from './pause/pause-image.ts';

/** What the daemon is asked for a pod's sandbox: it holds the pod's network, IPC and published ports. */
export function sandboxConfig(owner: Owner, spec: SandboxSpec): ContainerCreateOptions {
  const { hostname, hostNetwork, hostPID, hostIPC, dns, extraHosts, sysctls } = spec;
  // On the host's network a port is the host's already.
  const published = hostNetwork ? [] : spec.ports.filter(({ hostPort }) => hostPort > 0);
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const { containerPort, protocol, hostPort, hostIP } of published) (bindings[portKey(containerPort, protocol)] ??= []).push({ HostIp: hostIP, HostPort: String(hostPort) });
  return {
    Image: pauseImage,
    Hostname: hostname,
    Labels: sandboxLabels(owner, spec),
    ExposedPorts: Object.fromEntries(Object.keys(bindings).map((key) => [key, {}])),
    HostConfig: {
      NetworkMode: hostNetwork ? 'host' : 'bridge',
      IpcMode: hostIPC ? 'host' : 'shareable',
      PidMode: hostPID ? 'host' : '',
      PortBindings: bindings,
      ...(dns === undefined ? {} : { Dns: [...dns.servers], DnsSearch: dns.searches.length > 0 ? [...dns.searches] : ['.'], DnsOptions: [...dns.options] }),
      ExtraHosts: [...extraHosts],
      Sysctls: { ...sysctls },
      LogConfig: { Type: 'none', Config: {} },
      CpuShares: 2,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
    },
  };
}

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
