import type { Pod } from '@roundsman/api';
import type { SandboxSpec } from '@roundsman/containers';
import { dnsOf } from './dns.ts';

const domain = 'cluster.local';
const longestHostname = 63;

/** `name.subdomain.namespace.svc.cluster.local`, of pods with a subdomain. */
export function fullName(pod: Pod): string | undefined {
  const { subdomain } = pod.spec;
  return subdomain === undefined || subdomain === '' ? undefined : `${shortName(pod)}.${subdomain}.${pod.metadata.namespace}.svc.${domain}`;
}

/** The kernel takes 63 characters; a cut must not end in what no host name ends in. */
export function shortName({ metadata, spec }: Pod): string {
  const name = spec.hostname === undefined || spec.hostname === '' ? metadata.name : spec.hostname;
  return name.slice(0, longestHostname).replace(/[-.]+$/, '');
}

export const hostnameOf = (pod: Pod): string => (pod.spec.setHostnameAsFQDN === true ? (fullName(pod) ?? shortName(pod)) : shortName(pod));

/** What the containers of a pod share, as the runtime is asked for it. `resolvConf` is the machine's. */
export function sandboxSpec(pod: Pod, resolvConf: string): SandboxSpec {
  const { metadata, spec } = pod;
  const dns = dnsOf(spec, resolvConf);
  const ports = [...(spec.initContainers ?? []), ...spec.containers].flatMap((container) => container.ports ?? []);
  return {
    podUid: metadata.uid,
    namespace: metadata.namespace ?? '',
    podName: metadata.name,
    hostname: hostnameOf(pod),
    hostNetwork: spec.hostNetwork === true,
    hostPID: spec.hostPID === true,
    hostIPC: spec.hostIPC === true,
    shareProcessNamespace: spec.shareProcessNamespace === true,
    ports: spec.hostNetwork === true ? [] : ports.map(({ containerPort, protocol, hostPort = 0, hostIP = '' }) => ({ containerPort, protocol, hostPort, hostIP })),
    ...(dns === undefined ? {} : { dns }),
    // /etc/hosts is a file of the agent's (hosts-file.ts).
    extraHosts: [],
    sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
  };
}
