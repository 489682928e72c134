import { stripPrefixAnnotation, type Condition, type Dns, type DnsStatus, type Ingress } from '@roundsman/api';
import type { BackendProblem } from './backends.ts';

/** Behind the name of a DNS object: that of its Ingress. */
export const ingressSuffix = '-dns';

/** The Ingress that serves a DNS object; `className`: of those that the cluster serves itself. */
export function ingressOf({ metadata, spec }: Dns, className: string): Pick<Ingress, 'spec'> & { readonly metadata: { readonly name: string; readonly labels: Record<string, string>; readonly annotations: Record<string, string> } } {
  const paths = spec.paths.map(({ path, service: { name, port } }) => ({ path, pathType: 'Prefix' as const, backend: { service: { name, port: portOf(port) } } }));
  return {
    // The service sees requests as if it had the host for itself, as in MiniK8s.
    metadata: { name: `${metadata.name}${ingressSuffix}`, labels: { ...metadata.labels }, annotations: { [stripPrefixAnnotation]: 'true' } },
    spec: { ingressClassName: className, rules: [{ host: spec.host, http: { paths } }] },
  };
}

const portOf = (port: string | number): { number: number } | { name: string } => {
  const read = portIn(port);
  return typeof read === 'number' ? { number: read } : { name: read };
};

/** A number may be written as a text. */
export const portIn = (port: string | number): string | number => (/^\d+$/.test(String(port)) ? Number(port) : port);

/** What the status is to say. `problems`: why some paths lead nowhere, the worst first; `nowTime`: that of a condition that changes, RFC 3339. */
export function dnsStatusOf({ metadata, status }: Dns, address: string | undefined, problems: readonly { readonly reason: string; readonly message: string }[], nowTime: string): DnsStatus {
  const waiting = { reason: 'NoAddress', message: 'The ingress of the cluster has no address yet: Service kube-system/ingress' };
  const [first, ...others] = [...problems, ...(address === undefined ? [waiting] : [])];
  const state = first === undefined ? ('True' as const) : ('False' as const);
  const before = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready: Condition = {
    type: 'Ready',
    status: state,
    reason: first?.reason ?? 'Served',
    message: first === undefined ? 'All paths lead to services' : [first, ...others].map(({ message }) => message).join('; '),
    lastTransitionTime: before?.status === state ? before.lastTransitionTime : nowTime,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  };
  return { ...(address === undefined ? {} : { address }), conditions: [ready] };
}

export const nameTaken = (name: string): Omit<BackendProblem, 'reason'> & { reason: 'IngressNameTaken' } => ({
  reason: 'IngressNameTaken',
  message: `Ingress "${name}", by which it would be served, exists and belongs to somebody else: delete or rename it`,
});
