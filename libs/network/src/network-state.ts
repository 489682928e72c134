import { serviceKeyOf, type ClusterNetwork, type Dns, type EndpointSlice, type Ingress, type IngressClass, type KubeObject, type Node, type Service } from '@roundsman/api';
import { networkNodeFrom, type NetworkNode } from './network-node.ts';
import { ObjectTable, type TableChange } from './object-table.ts';

/** What lies in a NetworkState, by stored-resource key. */
export interface NetworkObjects {
  readonly nodes: NetworkNode;
  readonly services: Service;
  readonly 'endpointslices.discovery.k8s.io': EndpointSlice;
  readonly 'ingresses.networking.k8s.io': Ingress;
  readonly 'ingressclasses.networking.k8s.io': IngressClass;
  readonly 'dnses.roundsman.io': Dns;
}

/** What has changed; `object` is the last known one when it was deleted. Objects are shared: never change them. */
export type NetworkStateChange =
  | { readonly [R in keyof NetworkObjects]: { readonly resource: R } & TableChange<NetworkObjects[R]> }[keyof NetworkObjects]
  | ({ readonly resource: 'network' } & TableChange<ClusterNetwork>);

type Applied = 'ADDED' | 'MODIFIED' | 'DELETED';
type Tables = { readonly [R in keyof NetworkObjects]: ObjectTable<NetworkObjects[R]> };

/** How packets are to go, in memory: what intake tells, indexed. All readers are O(1) but for the lists themselves. */
export class NetworkState {
  #network: ClusterNetwork | undefined;
  readonly #tables: Tables;
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #listeners = new Set<(change: NetworkStateChange) => void>();

  constructor() {
    const same = <T>(object: KubeObject): T => object as unknown as T;
    const table = <R extends keyof NetworkObjects>(resource: R, view: (object: KubeObject) => NetworkObjects[R] = same): ObjectTable<NetworkObjects[R]> =>
      new ObjectTable(view, (change) => this.#told({ resource, ...change } as NetworkStateChange));
    this.#tables = {
      nodes: table('nodes', (object) => networkNodeFrom(object as Node)),
      services: table('services'),
      'endpointslices.discovery.k8s.io': table('endpointslices.discovery.k8s.io'),
      'ingresses.networking.k8s.io': table('ingresses.networking.k8s.io'),
      'ingressclasses.networking.k8s.io': table('ingressclasses.networking.k8s.io'),
      'dnses.roundsman.io': table('dnses.roundsman.io'),
    };
  }

  /** Undefined until the first listing is in: whoever programs something from this state waits for it, lest what is only not known yet be taken away. */
  get network(): ClusterNetwork | undefined {
    return this.#network;
  }

  services(): Service[] {
    return this.#tables.services.list();
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#tables.services.get(namespace, name);
  }

  /** By their label; in no order. Also those of a Service that does not exist (any more). */
  slicesOf(namespace: string, service: string): EndpointSlice[] {
    return [...(this.#slices.get(`${namespace}/${service}`)?.values() ?? [])];
  }

  nodes(): NetworkNode[] {
    return this.#tables.nodes.list();
  }

  node(name: string): NetworkNode | undefined {
    return this.#tables.nodes.get(undefined, name);
  }

  ingresses(): Ingress[] {
    return this.#tables['ingresses.networking.k8s.io'].list();
  }

  ingressClasses(): IngressClass[] {
    return this.#tables['ingressclasses.networking.k8s.io'].list();
  }

  dnses(): Dns[] {
    return this.#tables['dnses.roundsman.io'].list();
  }

  /** Called synchronously after each change, when all indexes know of it; must not throw. The answer ends it. */
  onChange(listener: (change: NetworkStateChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One change as it is announced. What is older than what is known of the same object changes nothing; resources that are not of the network are passed over. */
  apply(type: Applied, resource: string, object: object): void {
    const table = this.#table(resource);
    if (type === 'DELETED') table?.remove(object as KubeObject);
    else table?.put(object as KubeObject);
  }

  /** A whole new listing: what is missing in it is DELETED. The network is told last, so whoever waits for it finds all objects. */
  replace(network: ClusterNetwork, objects: readonly { readonly resource: string; readonly object: object }[]): void {
    const listed = new Map<string, KubeObject[]>();
    for (const { resource, object } of objects) {
      const of = listed.get(resource);
      if (of === undefined) listed.set(resource, [object as KubeObject]);
      else of.push(object as KubeObject);
    }
    for (const resource of Object.keys(this.#tables)) this.#table(resource)?.replace(listed.get(resource) ?? []);
    this.decide(network);
  }

  /** Sets the addresses of the cluster. */
  decide(network: ClusterNetwork): void {
    const before = this.#network;
    if (JSON.stringify(before) === JSON.stringify(network)) return;
    this.#network = network;
    this.#told({ resource: 'network', type: before === undefined ? 'ADDED' : 'MODIFIED', object: network, before });
  }

  #table(resource: string): Pick<ObjectTable<never>, 'put' | 'remove' | 'replace'> | undefined {
    return Object.hasOwn(this.#tables, resource) ? this.#tables[resource as keyof Tables] : undefined;
  }

  #told(change: NetworkStateChange): void {
    if (change.resource === 'endpointslices.discovery.k8s.io') {
      if (change.before !== undefined) this.#unindex(change.before);
      if (change.type !== 'DELETED') this.#index(change.object);
    }
    for (const listener of this.#listeners) listener(change);
  }

  #index(slice: EndpointSlice): void {
    const key = serviceKeyOf(slice);
    if (key === undefined) return;
    const of = this.#slices.get(key);
    if (of === undefined) this.#slices.set(key, new Map([[slice.metadata.name, slice]]));
    else of.set(slice.metadata.name, slice);
  }

  #unindex(slice: EndpointSlice): void {
    const key = serviceKeyOf(slice) ?? '';
    const of = this.#slices.get(key);
    of?.delete(slice.metadata.name);
    if (of?.size === 0) this.#slices.delete(key);
  }
}
