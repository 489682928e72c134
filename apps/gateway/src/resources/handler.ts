import { ApiError, badRequest, labelProblem, taskAnnotations, type KubeObject } from '@roundsman/api';
import type { Answer, Exchange } from '../http/exchange.ts';
import { ok } from '../http/exchange.ts';
import { mediaType } from '../http/body.ts';
import { listOptions, watchOptions } from '../http/query.ts';
import type { ResourcePath } from '../http/path.ts';
import type { JsonObject } from '../patch/lists.ts';
import { mergePatch } from '../patch/merge.ts';
import { deletionOf } from './delete-options.ts';
import { getObject, list, selectionOf } from './list.ts';
import { applyPatchType, patchOf } from './patching.ts';
import type { Served, Verb } from './reader.ts';
import { shownAs, tableOptions } from './table.ts';
import { Watch } from './watch.ts';
import { answerScale } from './scale.ts';
import type { Target } from './target.ts';
import { requestOf, type Request, type Writes, type Written } from './writes.ts';

/** Watches that are open, to bound and to end them. */
export interface OpenWatches {
  admit(watch: Watch): () => void;
}

/** Answers requests for resources: which verb it is, its options, its body. */
export class ResourceHandler {
  readonly #writes: Writes;
  readonly #watches: OpenWatches;

  constructor(writes: Writes, watches: OpenWatches) {
    this.#writes = writes;
    this.#watches = watches;
  }

  async handle(served: Served, path: ResourcePath, exchange: Exchange): Promise<Answer> {
    const { name, subresource } = path;
    if (served.kind.namespaced ? name !== undefined && path.namespace === undefined : path.namespace !== undefined) throw notServed(exchange.path);
    const wrong = path.namespace === undefined ? undefined : labelProblem(path.namespace);
    if (wrong !== undefined) throw badRequest(`the namespace ${JSON.stringify(path.namespace)} in the path cannot be one: ${wrong}`);
    const verb = verbOf(exchange, path);
    const allowed = this.#allowed(served, path);
    exchange.label = `${verb ?? 'other'} ${served.kind.plural}${subresource === undefined ? '' : `/${subresource}`}`;
    if (verb === undefined || !allowed.some(({ verbs }) => verbs.includes(verb))) throw new MethodNotAllowed(exchange.method, served, allowed.map(({ method }) => method));
    if (subresource === 'scale') return answerScale(served as Target['served'], path.namespace, name as string, exchange, this.#writes);
    if (verb === 'get') return this.#get(served, path, exchange);
    if (verb === 'list') return this.#list(served, path, exchange);
    if (verb === 'watch') return this.#watch(served, path, exchange);
    const writable = served as Target['served'];
    if (subresource === 'run' || subresource === 'cancel') return this.#annotate(writable, path, exchange, subresource);
    if (verb === 'delete') return this.#delete(writable, path, exchange);
    if (verb === 'deletecollection') return this.#deleteCollection(writable, path, exchange);
    return this.#write(writable, path, exchange, verb);
  }

  /** Methods that a path answers, and the verbs behind each. */
  #allowed({ kind, verbs, stored }: Served, { name, subresource, namespace }: ResourcePath): { method: string; verbs: Verb[] }[] {
    const has = (...wanted: Verb[]): Verb[] => wanted.filter((verb) => verbs.includes(verb));
    let table: { method: string; verbs: Verb[] }[];
    if (subresource === 'run' || subresource === 'cancel') table = [{ method: 'POST', verbs: has('create') }];
    else if (name !== undefined) {
      table = [{ method: 'GET', verbs: has('get', 'watch') }, { method: 'PUT', verbs: has('update') }, { method: 'PATCH', verbs: has('patch') }];
      if (subresource === undefined) table.push({ method: 'DELETE', verbs: has('delete') });
    } else {
      table = [{ method: 'GET', verbs: has('list', 'watch') }];
      if (!stored || !kind.namespaced || namespace !== undefined) table.push({ method: 'POST', verbs: has('create') });
      if (!stored || !kind.namespaced || namespace !== undefined) table.push({ method: 'DELETE', verbs: has('deletecollection') });
    }
    return table.filter((row) => row.verbs.length > 0);
  }

  async #get(served: Served, { namespace, name }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const table = tableOptions(exchange);
    const object = await getObject(served, namespace, name as string);
    return ok(shownAs(served.kind, object, table));
  }

  async #list(served: Served, { namespace }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const options = listOptions(exchange.query);
    return ok(await list(served, selectionOf(served, namespace, undefined, options), options, tableOptions(exchange)));
  }

  async #watch(served: Served, { namespace, name }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const options = listOptions(exchange.query);
    const selection = selectionOf(served, namespace, name, options);
    const watch = new Watch({ ...watchOptions(exchange.query), served, selection, resourceVersion: options.resourceVersion, table: tableOptions(exchange) }, exchange.response);
    const release = this.#watches.admit(watch);
    exchange.response.once('close', release);
    try {
      await watch.start();
    } catch (error) {
      release();
      throw error;
    }
    return 'streamed';
  }

  async #write(served: Target['served'], path: ResourcePath, exchange: Exchange, verb: Verb): Promise<Answer> {
    const { namespace, name } = path;
    const request = requestOf(exchange);
    if (verb !== 'patch' && request.force !== undefined) throw badRequest('query parameter force is for patches only');
    const target: Target = { served, namespace, name: name ?? '', subresource: path.subresource === 'status' ? 'status' : undefined };
    const body = await exchange.body();
    const duplicates = body.duplicates.map((field) => `duplicate field ${JSON.stringify(field)}`);
    if (duplicates.length > 0 && request.fieldValidation === 'Strict') throw badRequest(`strict decoding error: ${duplicates.join(', ')}`);
    const written =
      verb === 'create' ? await this.#writes.create(served, namespace, body.value, request)
      : verb === 'update' ? await this.#writes.replace(target, body.value, request)
      : await this.#patch(target, body.value, request, exchange);
    return this.#written(served, written, exchange, [...(body.warnings ?? []), ...(request.fieldValidation === 'Warn' ? duplicates : [])]);
  }

  #patch(target: Target, body: unknown, request: Request, exchange: Exchange): Promise<Written> {
    const type = exchange.headers['content-type'];
    if (mediaType(type) === applyPatchType) return this.#writes.apply(target, body, request);
    if (request.force !== undefined) throw badRequest('query parameter force is for apply patches only');
    return this.#writes.patch(target, request, patchOf(type, body, target.served.kind.group, [applyPatchType]));
  }

  /** `POST …/run` and `…/cancel` set the annotation that asks for it. */
  async #annotate(served: Target['served'], { namespace, name }: ResourcePath, exchange: Exchange, what: 'run' | 'cancel'): Promise<Answer> {
    const request = requestOf(exchange);
    const annotation = what === 'run' ? taskAnnotations.runNow : taskAnnotations.cancel;
    const value = new Date().toISOString();
    const written = await this.#writes.patch({ served, namespace, name: name as string }, request, (live) => mergePatch(live, { metadata: { annotations: { [annotation]: value } } }) as JsonObject);
    return this.#written(served, { ...written, created: true }, exchange, []);
  }

  async #delete(served: Target['served'], { namespace, name }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const object = await this.#writes.delete({ served, namespace, name: name as string }, await deletionOf(exchange), exchange.user.name);
    // Still there, waiting for its finalizers or its end: the client watches until it goes. Of what ends in its own time the object is always told.
    if (object.metadata.deletionTimestamp !== undefined || served.kind.graceful) return ok(object);
    const { group, plural } = served.kind;
    const details = { name: object.metadata.name, ...(group === '' ? {} : { group }), kind: plural, uid: object.metadata.uid };
    return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
  }

  async #deleteCollection(served: Target['served'], { namespace }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const deletion = await deletionOf(exchange);
    const options = listOptions(exchange.query);
    const found = (await list(served, selectionOf(served, namespace, undefined, options), options, undefined)) as { items: KubeObject[] };
    const items: KubeObject[] = [];
    for (const { metadata } of found.items) {
      try {
        items.push(await this.#writes.delete({ served, namespace: metadata.namespace ?? namespace, name: metadata.name }, { ...deletion, preconditions: { ...deletion.preconditions, uid: metadata.uid } }, exchange.user.name));
      } catch (error) {
        // Gone already, or a new object of that name, which was not meant.
        const code = (error as { code?: unknown }).code;
        if (code !== 404 && code !== 409) throw error;
      }
    }
    return ok({ ...found, items });
  }

  #written(served: Served, { object, warnings, created }: Written, exchange: Exchange, more: readonly string[]): Answer {
    const table = tableOptions(exchange);
    return { status: created ? 201 : 200, body: shownAs(served.kind, object, table), warnings: [...more, ...warnings] };
  }
}

/** 405, with what the path does answer. */
export class MethodNotAllowed extends ApiError {
  readonly allow: readonly string[];

  constructor(method: string, served: Served | undefined, allow: readonly string[]) {
    const { kind } = served ?? {};
    super('MethodNotAllowed', `${method} is not supported here${allow.length > 0 ? `; ${allow.join(', ')} ${allow.length === 1 ? 'is' : 'are'}` : ''}`, kind && { ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural });
    this.allow = allow;
  }
}

/** 404 for a path. It has details that name nothing: by that clients tell it from an object that is not there, and kubectl debug reads them unasked. */
export const notServed = (path: string): ApiError => new ApiError('NotFound', `the server could not find the requested resource (${path.slice(0, 300)})`, {});

function verbOf({ method, query }: Exchange, { name, subresource }: ResourcePath): Verb | undefined {
  const one = name !== undefined;
  if (method === 'GET' || method === 'HEAD') {
    if (subresource === undefined && query.flag('watch')) return 'watch';
    return one ? 'get' : 'list';
  }
  if (method === 'POST') return !one || subresource !== undefined ? 'create' : undefined;
  if (method === 'PUT') return one ? 'update' : undefined;
  if (method === 'PATCH') return one ? 'patch' : undefined;
  if (method === 'DELETE') return one ? 'delete' : 'deletecollection';
  return undefined;
}
