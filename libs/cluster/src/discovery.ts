import { ClusterError, type ClusterResource } from './cluster.ts';
import type { Connection } from './connection/connection.ts';
import { groupPath } from './paths.ts';
import { resources } from './resources.ts';

interface GroupVersion {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** Groups come and go (aggregated APIs, custom resources), but not often. */
const keptMs = 10_000;

/** What a server serves, asked of it and kept for a moment. */
export class Discovery {
  readonly #connection: Connection;
  readonly #known = new Map<string, { readonly atMs: number; readonly answer: Promise<GroupVersion | undefined> }>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async serves(groupVersion: string): Promise<boolean> {
    return (await this.#group(groupVersion)) !== undefined;
  }

  /** Rejects with a `ClusterError` (404) when the server has no such kind. */
  async resource(apiVersion: string, kind: string): Promise<ClusterResource> {
    const known = Object.values(resources).find((one) => one.apiVersion === apiVersion && one.kind === kind);
    if (known !== undefined) return known;
    const found = (await this.#group(apiVersion))?.resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (found === undefined) throw new ClusterError(`no matches for kind "${kind}" in version "${apiVersion}"`, 404, 'NotFound');
    return { apiVersion, kind, plural: found.name, namespaced: found.namespaced };
  }

  #group(groupVersion: string): Promise<GroupVersion | undefined> {
    const now = performance.now();
    const known = this.#known.get(groupVersion);
    if (known !== undefined && now - known.atMs < keptMs) return known.answer;
    const answer = this.#ask(groupVersion);
    this.#known.set(groupVersion, { atMs: now, answer });
    // Only answers are kept.
    answer.catch(() => this.#known.delete(groupVersion));
    return answer;
  }

  async #ask(groupVersion: string): Promise<GroupVersion | undefined> {
    try {
      return (await this.#connection.json<GroupVersion>({ method: 'GET', path: groupPath(groupVersion) })).object;
    } catch (error) {
      if (error instanceof ClusterError && error.code === 404) return undefined;
      throw error;
    }
  }
}
