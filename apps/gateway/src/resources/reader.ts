import type { FieldRequirement, Kind, KubeObject, LabelRequirement } from '@roundsman/api';

/** Which objects of a resource. */
export interface PageQuery {
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
  readonly limit: number | undefined;
  readonly continue: string | undefined;
}

export interface Page {
  /** To watch from; the same for all pages of a list. */
  readonly version: number;
  readonly items: readonly KubeObject[];
  readonly continue?: string;
}

/** One change of one object, unfiltered but for the namespace. */
export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: KubeObject;
}

export interface EventSink {
  readonly event: (event: ObjectEvent) => void;
  /** Nothing more will come: what lies between is no longer known. */
  readonly expired: (reason: string) => void;
  /** Awaited between pages of history. */
  readonly ready: () => Promise<void>;
}

export interface EventSource {
  /** Every change up to here has been handed over. */
  readonly position: number;
  stop(): void;
}

/** How objects of one kind are read: from the objects table, through a view, or from the report tables. */
export interface Reader {
  get(namespace: string | undefined, name: string): Promise<KubeObject | undefined>;
  page(query: PageQuery): Promise<Page>;
  /** Newest version there is, for "too large resource version". */
  head(): Promise<number>;
  /** Undefined where watching is not possible. */
  readonly follow?: (namespace: string | undefined, since: number, sink: EventSink) => EventSource;
}

/** A resource at a path: what it is and how it is read. */
export interface Served {
  /** As seen here: group, version, schema, columns. */
  readonly kind: Kind;
  readonly reader: Reader;
  /** Where and how it is stored, when it can be written. */
  readonly stored?: Stored;
  readonly verbs: readonly Verb[];
}

/** Storage of a written kind; a view stores in another shape, and a cluster-scoped view in one namespace. */
export interface Stored {
  readonly kind: Kind;
  /** Given for views: its shape, the API version to tell intake, and for a cluster-scoped one the namespace its objects live in. */
  readonly view?: { readonly apiVersion: string; readonly namespace?: string; readonly fromStored: (object: KubeObject) => KubeObject };
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';
