import type { ClusterNetwork, Ingress, KubeObject } from '@roundsman/api';
import { messages, networkResources, type Bus, type Change, type NetworkResource } from '@roundsman/bus';
import type { Logger } from 'pino';
import { nameKey, pageOf } from '../pages.ts';
import type { State } from '../state.ts';
import { networkNodeOf, networkTextOf } from './node-view.ts';

interface NetworkPage {
  readonly version: number;
  readonly network: ClusterNetwork;
  readonly objects?: { resource: NetworkResource; object: KubeObject }[];
  readonly next?: string;
}

const followed: ReadonlySet<string> = new Set(networkResources);
const isFollowed = (resource: string): resource is NetworkResource => followed.has(resource);
const tlsType = 'kubernetes.io/tls';
const typeOf = (object: object): unknown => (object as { type?: unknown }).type;
const viewOf = (resource: string, object: KubeObject): KubeObject => (resource === 'nodes' ? networkNodeOf(object) : object);

/** What those are told who steer packets: agents and ingress proxies. */
export class NetworkAnnouncer {
  readonly #state: State;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #network: ClusterNetwork;
  /** Of each node what was told last. */
  readonly #nodes = new Map<string, string>();
  /** Version of the last announcement; 0 before the first of this leader. */
  #told = 0;
  /** What happened before this leader: older than anything somebody may still lack. */
  readonly #begun: number;

  constructor(state: State, network: ClusterNetwork, bus: Bus, log: Logger) {
    this.#state = state;
    this.#network = network;
    this.#bus = bus;
    this.#log = log;
    this.#begun = state.head;
    for (const node of state.list('nodes')) this.#nodes.set(node.metadata.name, networkTextOf(node));
  }

  /** Tells every committed change that decides how packets go. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      const { resource, type, version } = change;
      if (resource === 'secrets' && typeOf(change.object) === tlsType) this.#tell(version, () => this.#bus.publish(messages.ingressSecretsChange, {}, { version }));
      if (!isFollowed(resource) || !this.#isNews(change)) continue;
      const object = viewOf(resource, change.object as unknown as KubeObject);
      // The version counts in any case: whoever follows sees the hole and asks.
      this.#tell(version, () => this.#bus.publish(messages.networkChange, {}, { type, version, previous: this.#told, resource, object: object as unknown as Change['object'] }));
      this.#told = version;
    }
  }

  #tell(version: number, publish: () => void): void {
    try {
      publish();
    } catch (error) {
      this.#log.error({ err: error, version }, 'a change of the network could not be announced');
    }
  }

  /** Nodes change with every heartbeat; few of these changes concern anybody else. */
  #isNews({ resource, type, name, object }: Change): boolean {
    if (resource !== 'nodes') return true;
    const text = type === 'DELETED' ? undefined : networkTextOf(object as unknown as KubeObject);
    if (this.#nodes.get(name) === text) return false;
    if (text === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, text);
    return true;
  }

  page({ seen, after }: { readonly seen?: number | undefined; readonly after?: string | undefined }): NetworkPage {
    const version = this.#told === 0 ? this.#begun : this.#told;
    const network = this.#network;
    if (after === undefined && seen === version) return { version, network };
    const all = networkResources.flatMap((resource) => this.#state.list(resource).map((object) => ({ resource, object: viewOf(resource, object) })));
    const { items: objects, ...more } = pageOf(all, ({ resource, object }) => `${resource}/${nameKey(object)}`, { after });
    return { version, network, objects, ...more };
  }

  /** The TLS secrets that Ingresses name, and no others. */
  secrets({ after }: { readonly after?: string | undefined }): { secrets: KubeObject[]; next?: string } {
    const named = new Map<string, KubeObject>();
    for (const { metadata, spec } of this.#state.list('ingresses.networking.k8s.io') as Ingress[]) {
      for (const { secretName } of spec.tls ?? []) {
        const secret = secretName === undefined ? undefined : this.#state.get('secrets', metadata.namespace, secretName);
        if (secret !== undefined && typeOf(secret) === tlsType) named.set(nameKey(secret), secret);
      }
    }
    const { items: secrets, ...more } = pageOf([...named.values()], nameKey, { after });
    return { secrets, ...more };
  }
}
