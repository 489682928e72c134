import type { KubeObject } from '@roundsman/api';

/** A kind of objects of a Kubernetes API, by what its paths are made from. */
export interface ClusterResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export type Change<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T; readonly before: T | undefined };

/**
 * A copy in memory of some objects of a Kubernetes API, kept current by list and watch. A watch that breaks off, or whose version is too old, is taken up again by
 * itself; what it has meanwhile stays, and `problem` says that it may be old.
 */
export interface Followed<T extends KubeObject> {
  list(): T[];
  get(namespace: string | undefined, name: string): T | undefined;
  /** Called for each difference, also those found by listing anew. Synchronous; must not throw. The answer ends it. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Resolves once everything has been listed. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Why it may not be current, in words; undefined while it is. */
  problem(): string | undefined;
  stop(): void;
}

/** An object as it is to be: the members that are ours to decide. */
export interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined; readonly [member: string]: unknown };
  readonly [member: string]: unknown;
}

/**
 * A Kubernetes API: the small cluster's own gateway or any other. Errors of the server are `ClusterError`s; one that cannot be reached is an ordinary error.
 */
export interface Cluster {
  /** For messages: the URL of the server; where the kubeconfig is, as long as that cannot be read. */
  readonly server: string;
  /** For health: why it could not be spoken to when that was last tried, in words. */
  problem(): string | undefined;
  /** Makes or changes an object so that it is as said, by server-side apply as field manager `roundsman`; conflicts are taken over. Answers it as it is then. */
  apply<T extends KubeObject>(object: Applied | KubeObject): Promise<T>;
  get<T extends KubeObject>(resource: ClusterResource, namespace: string | undefined, name: string): Promise<T | undefined>;
  /** `fields`: members that the server can select by, such as `involvedObject.uid`, and what they are to be. */
  list<T extends KubeObject>(resource: ClusterResource, options?: { namespace?: string; labelSelector?: string; fields?: Readonly<Record<string, string>> }): Promise<T[]>;
  /** Nothing when it is not there, or when there is another one of that name now. */
  delete(resource: ClusterResource, namespace: string | undefined, name: string, options?: { uid?: string; propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'; gracePeriodSeconds?: number }): Promise<void>;
  follow<T extends KubeObject>(resource: ClusterResource, options?: { namespace?: string; labelSelector?: string }): Followed<T>;
  /** Whether the API serves this group and version (`roundsman.io/v1`): owners of other groups would be taken for gone. */
  serves(groupVersion: string): Promise<boolean>;
  /** Ends all that is followed. */
  close(): void;
}

/** What the server answered instead of doing it. */
export class ClusterError extends Error {
  constructor(
    message: string,
    /** HTTP status. */
    readonly code: number,
    /** As in Status: `Conflict`, `Invalid`, `Forbidden`, ... */
    readonly reason: string | undefined,
  ) {
    super(message);
    this.name = 'ClusterError';
  }
}
