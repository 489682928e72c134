import { defaultDnsNamespace, parseAddress, type Condition, type NetDnsSpec, type Service, type ServicePort, type TaskStatus } from '@roundsman/api';

/** Services by name and by label, as they are now. */
export interface Services {
  get(namespace: string, name: string): Service | undefined;
  /** All of a namespace. */
  list(namespace: string): readonly Service[];
}

export interface FoundServers {
  readonly dnsServers: NonNullable<TaskStatus['dnsServers']>;
  readonly condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
}

const families = [
  { asked: 'testIPv4', kind: 'ipv4', name: 'IPv4' },
  { asked: 'testIPv6', kind: 'ipv6', name: 'IPv6' },
] as const;
type TargetDns = NonNullable<NetDnsSpec['target']['targetDns']>;

/** Found when no Service has the label. */
const usualName = 'kube-dns';

/**
 * The DNS servers that a `targetDns` stands for: the cluster addresses, of the families asked for, of the Service that it names; where it names none, of all Services
 * in `kube-system` with the label that answer to DNS. The condition says what is missing; what was found is there all the same.
 */
export function findServers({ target: { targetDns }, request: { protocol } }: NetDnsSpec & { target: { targetDns: TargetDns } }, services: Services, label: string): FoundServers {
  const { serviceName = '', serviceNamespace = '' } = targetDns;
  const namespace = serviceNamespace === '' ? defaultDnsNamespace : serviceNamespace;
  const found = serviceName === '' ? byLabel(services, namespace, label, protocol) : [services.get(namespace, serviceName)].filter((service) => service !== undefined);
  if (found.length === 0) {
    const what = serviceName === '' ? `no Service in namespace ${namespace} has the label ${label} and a port for DNS, and none is called ${usualName}` : `Service ${namespace}/${serviceName} does not exist`;
    return { dnsServers: [], condition: missing('ServiceNotFound', what) };
  }
  const all = found.flatMap((service) => addressesOf(service).map((address) => ({ service: nameOf(service), address, port: portOf(service, protocol)?.port ?? 53 })));
  const names = found.map(nameOf).join(', ');
  if (all.length === 0) return { dnsServers: [], condition: missing('NoClusterIP', `Service ${names} has no cluster address: ${found.some(({ spec }) => spec.type === 'ExternalName') ? 'it is an ExternalName' : 'it is headless'}`) };
  const asked = families.filter((family) => targetDns[family.asked]);
  const dnsServers = asked.flatMap(({ kind }) => all.filter(({ address }) => parseAddress(address)?.kind() === kind));
  const lacking = asked.filter(({ kind }) => !dnsServers.some(({ address }) => parseAddress(address)?.kind() === kind)).map(({ name }) => name);
  if (lacking.length > 0) return { dnsServers, condition: missing('NoAddressOfFamily', `Service ${names} has no ${lacking.join(' and no ')} address`) };
  return { dnsServers, condition: { type: 'TargetsFound', status: 'True', reason: 'ServersFound', message: `DNS servers of Service ${names}: ${dnsServers.map(({ address, port }) => `${address} port ${port}`).join(', ')}.` } };
}

const missing = (reason: string, what: string): FoundServers['condition'] => ({ type: 'TargetsFound', status: 'False', reason, message: `spec.target.targetDns: ${what}.` });
const nameOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`;
const addressesOf = ({ spec }: Service): string[] => (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((text) => parseAddress(text) !== undefined);

/** Metrics of a DNS server often are a headless Service with the same label. */
function byLabel(services: Services, namespace: string, label: string, protocol: NetDnsSpec['request']['protocol']): Service[] {
  const [key = '', value = ''] = label.split('=');
  const labelled = services.list(namespace).filter((service) => service.metadata.labels?.[key] === value && addressesOf(service).length > 0 && portOf(service, protocol) !== undefined);
  if (labelled.length > 0) return labelled.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const usual = services.get(namespace, usualName);
  return usual === undefined ? [] : [usual];
}

/** By the names that CoreDNS and kube-dns have, or by number; over TLS the plain port where there is no other. */
function portOf({ spec: { ports = [] } }: Service, protocol: NetDnsSpec['request']['protocol']): ServicePort | undefined {
  const over = protocol === 'udp' ? 'UDP' : 'TCP';
  const pick = (names: readonly string[], number: number): ServicePort | undefined => {
    const fitting = ports.filter((port) => port.protocol === over);
    return fitting.find(({ name }) => name !== undefined && names.includes(name)) ?? fitting.find(({ port }) => port === number);
  };
  return (protocol === 'tcp-tls' ? pick(['dns-tls', 'dns-over-tls', 'dot'], 853) : undefined) ?? pick(['dns', `dns-${over.toLowerCase()}`], 53);
}
