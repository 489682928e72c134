import { ApiError, apiVersionOf, matchesFields, matchesLabels, notFound, parseFieldSelector, parseLabelSelector, type FieldRequirement, type KubeObject, type LabelRequirement } from '@roundsman/api';
import { optionError, type ListOptions } from '../http/query.ts';
import type { PageQuery, Served } from './reader.ts';
import { tableOf, type TableOptions } from './table.ts';

/** Largest page that is read at once, whatever limit is asked for. */
export const maxPage = 5000;

/** Selectors of a request, parsed; `metadata.name` in the path is one too. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
}

export function selectionOf(served: Served, namespace: string | undefined, name: string | undefined, options: ListOptions): Selection {
  const fields = parseFieldSelector(options.fieldSelector, served.kind);
  return {
    namespace,
    labels: parseLabelSelector(options.labelSelector),
    fields: name === undefined ? fields : [...fields, { path: 'metadata.name', equal: true, value: name }],
  };
}

export const selects = ({ labels, fields }: Selection, object: KubeObject): boolean => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object);

/** Whether the selection can change its mind about an object: it looks at more than what never changes. */
export const isFixed = ({ labels, fields }: Selection): boolean => labels.length === 0 && fields.every(({ path }) => path === 'metadata.name' || path === 'metadata.namespace');

export async function getObject(served: Served, namespace: string | undefined, name: string): Promise<KubeObject> {
  const object = await served.reader.get(namespace, name);
  if (object === undefined) throw notFound(served.kind, name);
  return object;
}

/** A list (or its table) as answered; all matching objects when no limit is given. */
export async function list(served: Served, selection: Selection, options: ListOptions, table: TableOptions | undefined): Promise<object> {
  await checkVersion(served, options);
  const query: PageQuery = { ...selection, limit: Math.min(options.limit ?? maxPage, maxPage), continue: options.continue };
  const first = await served.reader.page(query);
  const items = [...first.items];
  let page = first;
  // Without a limit the client takes no continue key.
  while (options.limit === undefined && page.continue !== undefined) {
    page = await served.reader.page({ ...query, continue: page.continue });
    items.push(...page.items);
  }
  const metadata = { resourceVersion: String(first.version), ...(page.continue === undefined ? {} : { continue: page.continue }) };
  if (table) return tableOf(served.kind, items, metadata, { ...table, now: Date.now() });
  return { kind: `${served.kind.kind}List`, apiVersion: apiVersionOf(served.kind), metadata, items };
}

/** Reads are always of the newest state, so only a version from the future or an exact old one cannot be answered. */
async function checkVersion(served: Served, { resourceVersion, resourceVersionMatch, continue: place }: ListOptions): Promise<void> {
  if (resourceVersion === undefined || resourceVersion === 0) {
    if (resourceVersionMatch === 'Exact') throw optionError('resourceVersionMatch', 'Exact needs a resourceVersion other than 0');
    return;
  }
  if (place !== undefined) throw optionError('resourceVersion', 'is forbidden together with continue');
  const head = await served.reader.head();
  if (resourceVersion > head) throw new ApiError('Expired', `resource version ${resourceVersion} is newer than the newest here, ${head}: its history is gone; list without it`);
  if (resourceVersionMatch === 'Exact' && resourceVersion !== head) throw new ApiError('Expired', `The resourceVersion for the provided list is too old: only ${head}, the newest, can be listed exactly`);
}
