import type { KubeObject } from '@roundsman/api';
import { ClusterError, type Applied, type Cluster, type ClusterResource, type Followed } from './cluster.ts';
import type { Connection } from './connection/connection.ts';
import { Discovery } from './discovery.ts';
import { Follow, type FollowTimes, type Log } from './follow/follow.ts';
import { listAll } from './list.ts';
import { objectPath } from './paths.ts';

const fieldManager = 'roundsman';

/** A Kubernetes API by HTTP. */
export class HttpCluster implements Cluster {
  readonly #connection: Connection;
  readonly #discovery: Discovery;
  readonly #server: () => string;
  readonly #times: FollowTimes;
  readonly #log: Log | undefined;
  readonly #followed = new Set<Followed<KubeObject>>();
  /** Of the server, told already. */
  readonly #warnings = new Set<string>();

  constructor(connection: Connection, options: { server: () => string; times: FollowTimes; log?: Log | undefined }) {
    this.#connection = connection;
    this.#discovery = new Discovery(connection);
    this.#server = options.server;
    this.#times = options.times;
    this.#log = options.log;
  }

  get server(): string {
    return this.#server();
  }

  problem(): string | undefined {
    return this.#connection.problem();
  }

  async apply<T extends KubeObject>(wanted: Applied | KubeObject): Promise<T> {
    const { name, namespace } = wanted.metadata;
    const resource = await this.#discovery.resource(wanted.apiVersion, wanted.kind);
    const { object, warnings } = await this.#connection.json<T>({ method: 'PATCH', path: objectPath(resource, namespace, name), query: { fieldManager, force: true }, body: wanted, contentType: 'application/apply-patch+yaml' });
    for (const warning of warnings) this.#warn(`${wanted.kind}: ${warning}`);
    return object;
  }

  async get<T extends KubeObject>(resource: ClusterResource, namespace: string | undefined, name: string): Promise<T | undefined> {
    try {
      return (await this.#connection.json<T>({ method: 'GET', path: objectPath(resource, namespace, name) })).object;
    } catch (error) {
      if (error instanceof ClusterError && error.code === 404) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(resource: ClusterResource, { fields = {}, ...options }: { namespace?: string; labelSelector?: string; fields?: Readonly<Record<string, string>> } = {}): Promise<T[]> {
    const fieldSelector = Object.entries(fields).map(([name, value]) => `${name}=${value}`).join(',');
    return (await listAll<T>(this.#connection, resource, { ...options, ...(fieldSelector === '' ? {} : { fieldSelector }) })).items;
  }

  async delete(resource: ClusterResource, namespace: string | undefined, name: string, options: { uid?: string; propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'; gracePeriodSeconds?: number } = {}): Promise<void> {
    const { uid, ...rest } = options;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...rest, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    try {
      await this.#connection.json({ method: 'DELETE', path: objectPath(resource, namespace, name), body });
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      if (error.code === 404) return;
      // Refused for the uid, or for something else? Whoever has the name now tells.
      if (error.code === 409 && uid !== undefined && (await this.get(resource, namespace, name))?.metadata.uid !== uid) return;
      throw error;
    }
  }

  follow<T extends KubeObject>(resource: ClusterResource, options: { namespace?: string; labelSelector?: string } = {}): Followed<T> {
    const followed = new Follow<T>({ connection: this.#connection, resource, ...options, times: this.#times, log: this.#log, onStop: () => this.#followed.delete(followed) });
    this.#followed.add(followed);
    return followed;
  }

  serves(groupVersion: string): Promise<boolean> {
    return this.#discovery.serves(groupVersion);
  }

  close(): void {
    for (const followed of this.#followed) followed.stop();
    this.#connection.close();
  }

  #warn(warning: string): void {
    if (this.#warnings.has(warning) || this.#warnings.size >= 1000) return;
    this.#warnings.add(warning);
    this.#log?.warn({ warning, server: this.server }, 'the Kubernetes API warns');
  }
}
