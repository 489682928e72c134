import type { Pod } from '@roundsman/api';
import type { SandboxNetwork, SandboxSpec } from '@roundsman/containers';

const longestHostname = 63;

/** `name.subdomain.namespace.svc.<domain>`, of pods with a subdomain. */
export function fullName(pod: Pod, domain: string): string | undefined {
  const { subdomain } = pod.spec;
  return subdomain === undefined || subdomain === '' ? undefined : `${shortName(pod)}.${subdomain}.${pod.metadata.namespace}.svc.${domain}`;
}

/** The kernel takes 63 characters; a cut must not end in what no host name ends in. */
export function shortName({ metadata, spec }: Pod): string {
  const name = spec.hostname === undefined || spec.hostname === '' ? metadata.name : spec.hostname;
  return name.slice(0, longestHostname).replace(/[-.]+$/, '');
}

export const hostnameOf = (pod: Pod, domain: string): string => (pod.spec.setHostnameAsFQDN === true ? (fullName(pod, domain) ?? shortName(pod)) : shortName(pod));

/** What the containers of a pod share, as the runtime is asked for it. `domain` is the cluster's. */
export function sandboxSpec(pod: Pod, network: SandboxNetwork, domain: string): SandboxSpec {
  const { metadata, spec } = pod;
  const ports = [...(spec.initContainers ?? []), ...spec.containers].flatMap((container) => container.ports ?? []);
  return {
    podUid: metadata.uid,
    namespace: metadata.namespace ?? '',
    podName: metadata.name,
    hostname: hostnameOf(pod, domain),
    network,
    hostPID: spec.hostPID === true,
    hostIPC: spec.hostIPC === true,
    shareProcessNamespace: spec.shareProcessNamespace === true,
    ports: spec.hostNetwork === true ? [] : ports.map(({ containerPort, protocol, hostPort = 0, hostIP = '' }) => ({ containerPort, protocol, hostPort, hostIP })),
    // /etc/hosts and /etc/resolv.conf are files of the agent's (hosts-file.ts, dns.ts).
    extraHosts: [],
    sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
  };
}
