import { ageColumn, badRequest, column, decode, nameColumn, numberAt, scaleSchema, type KubeObject, type Scale } from '@roundsman/api';
import type { Answer, Exchange } from '../http/exchange.ts';
import { ok } from '../http/exchange.ts';
import { isObject, type JsonObject } from '../patch/lists.ts';
import { getObject } from './list.ts';
import { patchOf } from './patching.ts';
import type { Served } from './reader.ts';
import { shownAs, tableOptions } from './table.ts';
import type { Target } from './target.ts';
import { requestOf, type Writes } from './writes.ts';

const scale = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  schema: scaleSchema,
  columns: [
    nameColumn,
    column('Desired', 'integer', 'How many pods are wanted', (object) => numberAt(object, 'spec', 'replicas') ?? 0),
    column('Available', 'integer', 'How many pods there are', (object) => numberAt(object, 'status', 'replicas') ?? 0),
    ageColumn,
  ],
};

/** `…/scale`: how many pods something has, in one form for all kinds. */
export async function answerScale(served: Target['served'], namespace: string | undefined, name: string, exchange: Exchange, writes: Writes): Promise<Answer> {
  const table = tableOptions(exchange);
  const shown = (object: KubeObject): unknown => shownAs(scale, scaleOf(served, object) as unknown as KubeObject, table);
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return ok(shown(await getObject(served, namespace, name)));
  const request = requestOf(exchange);
  const target: Target = { served, namespace, name, subresource: 'scale' };
  const body = (await exchange.body()).value;
  const change = exchange.method === 'PUT' ? () => body : patchOf(exchange.headers['content-type'], body, 'autoscaling');
  const { object, warnings } = await writes.patch(target, request, (live) => scaled(served, live, change));
  return { status: 200, body: shown(object), warnings };
}

function scaled(served: Served, live: JsonObject, change: (scale: JsonObject) => unknown): JsonObject {
  const before = scaleOf(served, live as unknown as KubeObject);
  const sent = change(structuredClone(before) as unknown as JsonObject);
  if (!isObject(sent)) throw badRequest('the body must be one Scale object');
  const { metadata, spec } = decode(scale, { ...sent, metadata: { ...(sent['metadata'] as JsonObject | undefined), name: nameIn(sent) ?? before.metadata.name! } }, 'Ignore').object as unknown as Scale;
  if (metadata.name !== before.metadata.name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${before.metadata.name})`);
  const { resourceVersion, uid } = metadata;
  return {
    ...live,
    metadata: { ...(live['metadata'] as JsonObject), ...(resourceVersion ? { resourceVersion } : {}), ...(uid ? { uid } : {}) },
    spec: { ...(live['spec'] as JsonObject), replicas: spec.replicas },
  };
}

const nameIn = (sent: JsonObject): string | undefined => (isObject(sent['metadata']) && typeof sent['metadata']['name'] === 'string' && sent['metadata']['name'] !== '' ? sent['metadata']['name'] : undefined);

function scaleOf({ kind }: Served, object: KubeObject): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, 'spec', 'replicas') ?? 0 },
    status: { replicas: numberAt(object, 'status', 'replicas') ?? 0, selector: kind.scale?.selector(object) ?? '' },
  } as Scale;
}
