import type { KubeObject } from '@roundsman/api';
import { ClusterError, type ClusterResource } from './cluster.ts';
import type { Connection } from './connection/connection.ts';
import { objectPath } from './paths.ts';

interface Page<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: T[] | null;
}

export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

const pageSize = 500;

/** All of them as they were at one version, page by page. */
export async function listAll<T extends KubeObject>(connection: Connection, resource: ClusterResource, { namespace, labelSelector, fieldSelector, signal }: ListOptions): Promise<{ items: T[]; version: string }> {
  const page = async (limit: number | undefined, from: string | undefined): Promise<Page<T>> => {
    const { object } = await connection.json<Page<T>>({ method: 'GET', path: objectPath(resource, namespace), query: { labelSelector, fieldSelector, limit, continue: from }, ...(signal ? { signal } : {}) });
    return object;
  };
  const items: T[] = [];
  let from: string | undefined;
  for (;;) {
    let found: Page<T>;
    try {
      found = await page(pageSize, from);
    } catch (error) {
      if (!(error instanceof ClusterError && error.code === 410 && from !== undefined)) throw error;
      // It took so long that the version of the first page is gone: all at once, then.
      items.length = 0;
      found = await page(undefined, undefined);
    }
    // Objects in lists do not say what they are.
    for (const item of found.items ?? []) items.push({ ...item, apiVersion: resource.apiVersion, kind: resource.kind });
    from = found.metadata.continue || undefined;
    if (from === undefined) return { items, version: found.metadata.resourceVersion ?? '' };
  }
}
