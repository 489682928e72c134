import { indexIn, parseCidr, serviceKeyOf, systemServices, type Cidr, type ClusterNetwork } from '@roundsman/api';
import type { NetworkState, NetworkStateChange } from '@roundsman/network';
import { rcodes, types } from '../wire/codes.ts';
import { textOfName } from '../wire/names.ts';
import { recordOf, type ResourceRecord } from '../wire/record.ts';
import { addressOfLabel, addressOfReverse, addressRecord } from './addresses.ts';
import { hostOfDns, hostRecords, hostsOfIngress, ingressAddresses, isIngressService } from './host-records.ts';
import { distinct, RecordIndex } from './record-index.ts';
import { serviceRecords } from './service-records.ts';

/** Version of the specification that the records follow (kubernetes/dns). */
const schemaVersion = '1.1.0';

/** What the cluster has to say of a name and a type. */
export interface Known {
  readonly rcode: number;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
}

/** All names that the cluster has itself, as the state of its network says; a change of that is a change of names at once. */
export class ClusterNames {
  readonly #state: NetworkState;
  readonly #ttl: number;
  /** Below the domain of the cluster. */
  readonly #names = new RecordIndex();
  readonly #reverse = new RecordIndex();
  /** Of DNS objects and Ingresses, in anybody's domain. */
  readonly #hosts = new RecordIndex();
  #ranges: readonly Cidr[] = [];
  #soa: ResourceRecord | undefined;
  #domain: string | undefined;
  readonly #unfollow: () => void;

  constructor(state: NetworkState, ttlSeconds: number) {
    this.#state = state;
    this.#ttl = ttlSeconds;
    if (state.network !== undefined) this.#decide(state.network);
    this.#unfollow = state.onChange((change) => this.#changed(change));
  }

  close(): void {
    this.#unfollow();
  }

  /** Undefined until the network is known: until then nobody can tell which names are the cluster's. */
  get domain(): string | undefined {
    return this.#domain;
  }

  /** `name` in lower case without its last dot. Undefined: it is no name of the cluster's. */
  lookup(name: string, type: number): Known | undefined {
    const own = this.#names.at(name) ?? this.#hostRecords(name) ?? this.#reverse.at(name) ?? this.#podRecord(name);
    if (own !== undefined) return this.#answer(name, type, own);
    const isBelow = this.#isBelowDomain(name);
    if (isBelow && this.#exists(name)) return this.#nothing(rcodes.NOERROR, name);
    const wild = name.includes('.') ? this.#hostRecords(`*${name.slice(name.indexOf('.'))}`) : undefined;
    if (wild !== undefined) return this.#answer(name, type, wild.map((record) => ({ ...record, name })));
    return isBelow || this.#isOwnReverse(name) ? this.#nothing(rcodes.NXDOMAIN, name) : undefined;
  }

  #answer(name: string, type: number, own: readonly ResourceRecord[]): Known {
    const answers = own.filter((record) => record.type === type || record.type === types.CNAME || type === types.ANY);
    if (answers.length === 0) return this.#nothing(rcodes.NOERROR, name);
    const targets = new Set(answers.flatMap(({ type: kind, data }) => (kind === types.SRV ? [textOfName(data, srvTargetAt)] : [])));
    const additionals = [...targets].flatMap((target) => (this.#names.at(target) ?? []).filter((record) => record.type === types.A || record.type === types.AAAA));
    return { rcode: rcodes.NOERROR, answers: shuffled(answers), authorities: [], additionals };
  }

  #nothing(rcode: number, name: string): Known {
    const soa = this.#soa;
    const isBelow = this.#isBelowDomain(name);
    return { rcode, answers: [], authorities: soa === undefined ? [] : [isBelow ? soa : { ...soa, name: this.#zoneOf(name) }], additionals: [] };
  }

  #isBelowDomain(name: string): boolean {
    return this.#domain !== undefined && (name === this.#domain || name.endsWith(`.${this.#domain}`));
  }

  /** Whether there is anything below it; of pods any address in any namespace is there. */
  #exists(name: string): boolean {
    if (this.#names.exists(name)) return true;
    const rest = name.slice(0, -(this.#domain?.length ?? 0) - 1);
    return rest === 'svc' || rest === 'pod' || /^[^.]+\.pod$/.test(rest);
  }

  /** `1-2-3-4.namespace.pod.<domain>` stands for the address that it names. */
  #podRecord(name: string): ResourceRecord[] | undefined {
    if (!name.endsWith(`.pod.${this.#domain}`)) return undefined;
    const [label = '', , ...rest] = name.split('.');
    const address = rest.join('.') === `pod.${this.#domain}` ? addressOfLabel(label) : undefined;
    return address === undefined ? undefined : addressRecord(name, address, this.#ttl);
  }

  /** A DNS object and the Ingress that is made of it have the same host. */
  #hostRecords(name: string): readonly ResourceRecord[] | undefined {
    const records = this.#hosts.at(name);
    return records === undefined || records.length < 2 ? records : distinct(records);
  }

  #isOwnReverse(name: string): boolean {
    const address = addressOfReverse(name);
    return address !== undefined && this.#ranges.some((range) => indexIn(range, address) !== undefined);
  }

  /** The zone that a name outside of the cluster's domain is in: itself, or the part of the reverse tree that lies within one of our ranges. */
  #zoneOf(name: string): string {
    const address = addressOfReverse(name);
    const range = address === undefined ? undefined : this.#ranges.find((one) => indexIn(one, address) !== undefined);
    if (range === undefined || this.#reverse.at(name) !== undefined) return name;
    const [labels, bits] = range.family === 'IPv4' ? [4, 8] : [32, 4];
    return name.split('.').slice(labels - Math.ceil(range.prefix / bits)).join('.');
  }

  #changed(change: NetworkStateChange): void {
    if (change.resource === 'network') return this.#decide(change.object);
    if (this.#domain === undefined) return;
    switch (change.resource) {
      case 'services':
        this.#setService(change.object.metadata.namespace ?? '', change.object.metadata.name);
        if (isIngressService(change.object)) this.#setHosts();
        break;
      case 'endpointslices.discovery.k8s.io':
        for (const key of new Set([change.object, ...(change.before === undefined ? [] : [change.before])].map(serviceKeyOf))) {
          const [namespace, name] = (key ?? '').split('/');
          if (namespace !== undefined && name !== undefined) this.#setService(namespace, name);
        }
        break;
      case 'ingressclasses.networking.k8s.io':
        this.#setHosts();
        break;
      case 'ingresses.networking.k8s.io':
      case 'dnses.roundsman.io': {
        const { namespace = '', name } = change.object.metadata;
        const hosts = change.type === 'DELETED' ? [] : change.resource === 'dnses.roundsman.io' ? hostOfDns(change.object) : hostsOfIngress(change.object, this.#state.ingressClasses());
        this.#hosts.set(`${change.resource}/${namespace}/${name}`, this.#recordsOf(hosts, this.#ingressAddresses()));
        break;
      }
    }
  }

  #decide(network: ClusterNetwork): void {
    const domain = network.domain.toLowerCase();
    this.#domain = domain;
    this.#ranges = [...network.podCidrs, ...network.serviceCidrs].map(parseCidr);
    const server = `${systemServices.dns}.${systemServices.namespace}.svc.${domain}`;
    const ttl = this.#ttl;
    this.#soa = recordOf({ type: 'SOA', name: domain, ttl, data: { mname: server, rname: `hostmaster.${domain}`, serial: 1, refresh: 7200, retry: 1800, expire: 86_400, minimum: ttl } });
    this.#names.clear();
    this.#reverse.clear();
    this.#names.set('zone', [this.#soa, recordOf({ type: 'NS', name: domain, ttl, data: server }), recordOf({ type: 'TXT', name: `dns-version.${domain}`, ttl, data: schemaVersion })]);
    for (const { metadata } of this.#state.services()) this.#setService(metadata.namespace ?? '', metadata.name);
    this.#setHosts();
  }

  #setService(namespace: string, name: string): void {
    const service = this.#state.service(namespace, name);
    const source = `${namespace}/${name}`;
    if (service === undefined || this.#domain === undefined) {
      this.#names.delete(source);
      this.#reverse.delete(source);
      return;
    }
    const { names, reverse } = serviceRecords(service, this.#state.slicesOf(namespace, name), { domain: this.#domain, ttl: this.#ttl });
    this.#names.set(source, names);
    this.#reverse.set(source, reverse);
  }

  #ingressAddresses(): string[] {
    return ingressAddresses(this.#state.service(systemServices.namespace, systemServices.ingress));
  }

  /** Names below the cluster's domain are those of Services and pods: a host there would be found for every short name that a pod asks for. */
  #recordsOf(hosts: readonly string[], addresses: readonly string[]): ResourceRecord[] {
    return hostRecords(hosts.filter((host) => !this.#isBelowDomain(host)), addresses, this.#ttl);
  }

  #setHosts(): void {
    this.#hosts.clear();
    const addresses = this.#ingressAddresses();
    const classes = this.#state.ingressClasses();
    const set = (resource: string, { metadata }: { metadata: { namespace?: string; name: string } }, hosts: string[]): void =>
      this.#hosts.set(`${resource}/${metadata.namespace ?? ''}/${metadata.name}`, this.#recordsOf(hosts, addresses));
    for (const dns of this.#state.dnses()) set('dnses.roundsman.io', dns, hostOfDns(dns));
    for (const ingress of this.#state.ingresses()) set('ingresses.networking.k8s.io', ingress, hostsOfIngress(ingress, classes));
  }
}

/** Of the name in an SRV record's data. */
const srvTargetAt = 6;

/** Clients take the first: each time another one. */
function shuffled<T>(list: readonly T[]): readonly T[] {
  if (list.length < 2) return list;
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [copy[at], copy[other]] = [copy[other]!, copy[at]!];
  }
  return copy;
}
