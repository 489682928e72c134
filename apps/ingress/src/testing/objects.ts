import { serviceNameLabel, type EndpointSlice, type Ingress, type IngressClass, type IngressSpec, type KubeObject, type Service, type ServicePort } from '@roundsman/api';

let version = 0;
const metadata = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject['metadata'] => ({ namespace: 'default', name, uid: `${name}-uid`, resourceVersion: String((version += 1)), generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', ...more });

export const resources = { ingress: 'ingresses.networking.k8s.io', class: 'ingressclasses.networking.k8s.io', service: 'services', slice: 'endpointslices.discovery.k8s.io' } as const;

export const ingressClass = (name: string, controller = 'roundsman.io/ingress', isDefault = false): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', spec: { controller },
  metadata: { ...metadata(name, isDefault ? { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } } : {}), namespace: undefined } as unknown as IngressClass['metadata'],
});

export const ingress = (name: string, spec: IngressSpec, more: Partial<KubeObject['metadata']> = {}): Ingress => ({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: metadata(name, more), spec });

/** Paths of one host to Services: `{ '/': 'web:80', '=/exact': 'web:http' }`. */
export function rule(host: string | undefined, paths: Readonly<Record<string, string>>): NonNullable<IngressSpec['rules']>[number] {
  return {
    ...(host === undefined ? {} : { host }),
    http: { paths: Object.entries(paths).map(([path, to]) => ({ path: path.replace(/^=/, ''), pathType: path.startsWith('=') ? ('Exact' as const) : ('Prefix' as const), backend: backend(to) })) },
  };
}

export function backend(to: string): NonNullable<IngressSpec['defaultBackend']> {
  const [name = '', port = ''] = to.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

export const service = (name: string, ports: readonly ServicePort[] = [{ name: 'http', port: 80 } as ServicePort], more: object = {}): Service =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: metadata(name), spec: { type: 'ClusterIP', ports, ...more } }) as unknown as Service;

export const slice = (of: string, endpoints: readonly (string | { address: string; conditions: object })[], port: number, portName = 'http', name = `${of}-1`): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: endpoints.some((one) => typeof one === 'string' && one.includes(':')) ? 'IPv6' : 'IPv4',
  metadata: metadata(name, { labels: { [serviceNameLabel]: of } }),
  endpoints: endpoints.map((one) => (typeof one === 'string' ? { addresses: [one], conditions: { ready: true } } : { addresses: [one.address], conditions: one.conditions })),
  ports: [{ name: portName, protocol: 'TCP', port }],
});
