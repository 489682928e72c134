import { Discovery, type Listed } from './discovery.ts';
import { ok, type Answer, type Exchange } from './http/exchange.ts';
import { resourcePath, type ResourcePath } from './http/path.ts';
import { writeOptions } from './http/query.ts';
import { LiveStreams, taskKey } from './live/streams.ts';
import type { UpgradeRequest } from './http/upgrade.ts';
import type { PodHandler } from './pods/handler.ts';
import type { Catalogue } from './resources/catalogue.ts';
import { MethodNotAllowed, notServed, ResourceHandler } from './resources/handler.ts';
import { getObject } from './resources/list.ts';
import type { Served } from './resources/reader.ts';
import { subresourcesOf } from './resources/subresources.ts';
import type { Target } from './resources/target.ts';
import { emptyOpenApiV2, openApiOf, type OpenApi } from './openapi.ts';
import { answerReview, reviews } from './reviews.ts';
import { versionOf } from './version.ts';

export interface ApiOptions {
  readonly catalogue: Catalogue;
  readonly resources: ResourceHandler;
  readonly pods: PodHandler;
  readonly live: LiveStreams;
  /** Of the product: `0.1.0`. */
  readonly version: string;
  readonly address: () => string;
}

/** Everything behind the token: says which part of the API a path means. */
export class Api {
  readonly #options: ApiOptions;
  readonly #discovery: Discovery;
  readonly #openapi: OpenApi;

  constructor(options: ApiOptions) {
    this.#options = options;
    const listed: Listed[] = options.catalogue.all.map((served) => ({ kind: served.kind, verbs: served.verbs, subresources: subresourcesOf(served) }));
    this.#discovery = new Discovery([...listed, ...reviews]);
    this.#openapi = openApiOf([...listed, ...reviews]);
  }

  async answer(exchange: Exchange): Promise<Answer> {
    const { parts } = exchange;
    const path = resourcePath(parts);
    if (path === undefined) return this.#document(exchange);
    if (path.group === 'roundsman.io' && path.version === 'v1' && path.resource === 'live' && path.name === undefined && path.namespace === undefined) return this.#live(exchange, undefined);
    const review = reviews.find(({ kind }) => kind.group === path.group && kind.version === path.version && kind.plural === path.resource);
    if (review && path.name === undefined && path.namespace === undefined) return this.#review(review, exchange);
    const served = this.#find(path, exchange.path);
    const { subresource, name } = path;
    if (subresource === 'live') return this.#liveOf(served, path.namespace, name as string, exchange);
    if (served.stored && name !== undefined && subresource !== undefined) {
      const answer = this.#options.pods.answer(served as Target['served'], { ...path, name }, exchange);
      if (answer !== undefined) return answer;
    }
    return this.#options.resources.handle(served, path, exchange);
  }

  /** Takes a connection over for a stream to a pod, until it ends. Rejects when it refuses. */
  async upgrade(upgrade: UpgradeRequest): Promise<void> {
    const path = resourcePath(upgrade.parts);
    if (path?.name === undefined) throw notServed(upgrade.path);
    await this.#options.pods.upgrade(this.#find(path, upgrade.path) as Target['served'], { ...path, name: path.name }, upgrade);
  }

  /** The resource that a path means; 404 when it, or the part of it that is named, is not served. */
  #find({ group, version, resource, subresource, namespace, name }: ResourcePath, shown: string): Served {
    const served = this.#options.catalogue.find(group, version, resource);
    if (served === undefined) throw notServed(shown);
    if (subresource === undefined) return served;
    if (!subresourcesOf(served).some((one) => one.name === subresource)) throw notServed(shown);
    if (served.kind.namespaced !== (namespace !== undefined) || name === undefined) throw notServed(shown);
    return served;
  }

  #document(exchange: Exchange): Answer {
    const { parts } = exchange;
    const answer = this.#read(exchange);
    if (answer === undefined) throw notServed(exchange.path);
    exchange.label = parts[0] === 'openapi' ? 'openapi' : parts[0] === 'version' ? 'version' : 'discovery';
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw new MethodNotAllowed(exchange.method, undefined, ['GET']);
    return answer();
  }

  #read(exchange: Exchange): (() => Answer) | undefined {
    const { parts } = exchange;
    const { address } = this.#options;
    const openapi = this.#openapi;
    const [first, second, third] = parts;
    const discovery = this.#discovery;
    if (parts.length === 1 && first === 'version') return () => ok(versionOf(this.#options.version));
    if (parts.length === 1 && (first === 'api' || first === 'apis')) {
      return () => {
        const { discovery: wanted } = exchange.accepted();
        if (wanted) {
          const { type, body } = discovery.aggregated(first === 'api', wanted);
          return { status: 200, body, type };
        }
        return ok(first === 'api' ? discovery.coreVersions(address()) : discovery.groups());
      };
    }
    // Its own media type holds an @, which Go's parser refuses.
    if (first === 'openapi' && second === 'v2' && parts.length === 2) return () => ({ status: 200, body: emptyOpenApiV2, type: 'application/octet-stream' });
    if (first === 'openapi' && second === 'v3') {
      if (parts.length === 2) return () => ok(openapi.index());
      const document = openapi.document(parts.slice(2).join('/'));
      return document && (() => ok(document));
    }
    const group = first === 'apis' && parts.length === 2 ? discovery.group(second as string) : undefined;
    if (group) return () => ok(group);
    const resources = first === 'api' && parts.length === 2 ? discovery.resources('', second as string) : first === 'apis' && parts.length === 3 ? discovery.resources(second as string, third as string) : undefined;
    return resources && (() => ok(resources));
  }

  async #review(review: Listed, exchange: Exchange): Promise<Answer> {
    exchange.label = `create ${review.kind.plural}`;
    if (exchange.method !== 'POST') throw new MethodNotAllowed(exchange.method, undefined, ['POST']);
    // Read for its refusals: nothing is stored, whatever they say.
    writeOptions(exchange.query);
    return { status: 201, body: answerReview(review, (await exchange.body()).value, exchange.user) };
  }

  async #liveOf(served: Served, namespace: string | undefined, name: string, exchange: Exchange): Promise<Answer> {
    exchange.label = `watch ${served.kind.plural}/live`;
    if (exchange.method !== 'GET') throw new MethodNotAllowed(exchange.method, served, ['GET']);
    await getObject(served, namespace, name);
    const { kind, view } = served.stored as NonNullable<Served['stored']>;
    return this.#live(exchange, taskKey(kind.kind, view?.namespace ?? (namespace as string), name));
  }

  #live(exchange: Exchange, task: string | undefined): Answer {
    if (task === undefined) exchange.label = 'watch live';
    if (exchange.method !== 'GET') throw new MethodNotAllowed(exchange.method, undefined, ['GET']);
    const id = exchange.headers['last-event-id'];
    this.#options.live.open(exchange.response, task, typeof id === 'string' && id !== '' ? id : undefined);
    return 'streamed';
  }
}

