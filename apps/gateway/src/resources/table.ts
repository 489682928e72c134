import type { Column, Kind, KubeObject } from '@roundsman/api';
import type { Exchange } from '../http/exchange.ts';

/** What of an object comes along with its row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly version: 'v1' | 'v1beta1';
  readonly include: IncludeObject;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: string;
  readonly metadata: Record<string, unknown>;
  readonly columnDefinitions?: readonly unknown[];
  readonly rows: readonly unknown[];
}

/** What table a request asks for, if any. */
export function tableOptions(exchange: Exchange): TableOptions | undefined {
  const { table } = exchange.accepted();
  const include = exchange.query.oneOf('includeObject', ['None', 'Metadata', 'Object']) ?? 'Metadata';
  return table && { version: table, include };
}

/** One object as it was asked for: itself, or a table of it. */
export function shownAs(kind: Pick<Kind, 'columns'>, object: KubeObject, table: TableOptions | undefined): unknown {
  return table ? tableOf(kind, [object], { resourceVersion: object.metadata.resourceVersion }, { ...table, now: Date.now() }) : object;
}

const definition = ({ name, type, format, description, priority }: Column): object => ({ name, type, format: format ?? '', description, priority });

/**
 * Rows as `kubectl get` prints them. `metadata` is the list's (or the single object's) resourceVersion and continue key; ages
 * are counted to `now`. Watch events after the first leave the column definitions out.
 */
export function tableOf(kind: Pick<Kind, 'columns'>, objects: readonly KubeObject[], metadata: Record<string, unknown>, options: TableOptions & { now: number; definitions?: boolean }): Table {
  const { now, include, version } = options;
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    ...(options.definitions === false ? {} : { columnDefinitions: kind.columns.map(definition) }),
    rows: objects.map((object) => ({ cells: kind.columns.map((column) => column.cell(object, now)), ...rowObject(object, include, version) })),
  };
}

function rowObject(object: KubeObject, include: IncludeObject, version: string): { object?: unknown } {
  if (include === 'None') return {};
  if (include === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata } };
}
