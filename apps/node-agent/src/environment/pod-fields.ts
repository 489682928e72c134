import { parseQuantity, type Container, type Pod, type ResourceFieldSelector } from '@roundsman/api';

/** What only the node knows of a pod. */
export interface PodFacts {
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
  /** Of the node, as quantities: what a container without limits is told. */
  readonly allocatable: Readonly<Record<string, string>>;
}

const subscripted = /^metadata\.(labels|annotations)\['(.*)'\]$/;
/** As in volumes: one `key="value"` line each, in order. */
const lines = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');

/** The value of a field of the pod. Throws for a path that names none. */
export function podField(pod: Pod, path: string, facts: PodFacts): string {
  const { metadata, spec } = pod;
  const subscript = subscripted.exec(path);
  if (subscript !== null) return (subscript[1] === 'labels' ? metadata.labels : metadata.annotations)?.[subscript[2] ?? ''] ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return lines(metadata.labels);
    case 'metadata.annotations':
      return lines(metadata.annotations);
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return facts.hostIPs[0] ?? '';
    case 'status.hostIPs':
      return facts.hostIPs.join(',');
    case 'status.podIP':
      return facts.podIPs[0] ?? '';
    case 'status.podIPs':
      return facts.podIPs.join(',');
    default:
      throw new Error(`unsupported fieldPath: ${path}`);
  }
}

/** A request or limit of a container in the unit of the divisor, rounded up; without a limit what the node has. */
export function resourceField(pod: Pod, selector: ResourceFieldSelector, own: Container | undefined, facts: PodFacts): string {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const container = selector.containerName === undefined || selector.containerName === '' ? own : all.find(({ name }) => name === selector.containerName);
  if (container === undefined) throw new Error(`container ${selector.containerName ?? ''} not found`);
  const [kind = '', ...rest] = selector.resource.split('.');
  const name = rest.join('.');
  if ((kind !== 'limits' && kind !== 'requests') || name === '') throw new Error(`unsupported container resource : ${selector.resource}`);
  const set = container.resources?.[kind]?.[name];
  const amount = parseQuantity(set ?? (kind === 'limits' && ['cpu', 'memory', 'ephemeral-storage'].includes(name) ? (facts.allocatable[name] ?? '0') : '0'));
  const divisor = parseQuantity(selector.divisor ?? '0');
  // Quotients of decimal fractions (0.5 / 0.001) are a hair off.
  return String(Math.ceil(Number((amount / (divisor === 0 ? 1 : divisor)).toPrecision(12))));
}
