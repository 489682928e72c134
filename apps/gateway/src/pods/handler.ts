import { badRequest, bindingSchema, decode, evictionSchema, type Binding, type Eviction, type KubeObject, type Pod } from '@roundsman/api';
import type { Bus } from '@roundsman/bus';
import type { Answer, Exchange } from '../http/exchange.ts';
import type { ResourcePath } from '../http/path.ts';
import { writeOptions } from '../http/query.ts';
import type { UpgradeRequest } from '../http/upgrade.ts';
import { isObject } from '../patch/lists.ts';
import { toDeletion } from '../resources/delete-options.ts';
import { MethodNotAllowed } from '../resources/handler.ts';
import { getObject } from '../resources/list.ts';
import type { Target } from '../resources/target.ts';
import type { Writes } from '../resources/writes.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import { logOptions } from './log-options.ts';
import { streamLogs } from './logs.ts';
import { pipeTo } from './pipes.ts';
import { containerOf } from './pod.ts';
import { PodStreams } from './streams.ts';

type PodPath = ResourcePath & { readonly name: string };

const eviction = { group: 'policy', version: 'v1', kind: 'Eviction', schema: evictionSchema };
const binding = { group: '', version: 'v1', kind: 'Binding', schema: bindingSchema };

/** What is asked of one pod besides reading and writing it: its output, streams into it, its eviction and its node. */
export class PodHandler {
  readonly #bus: Bus;
  readonly #writes: Writes;
  readonly #open: OpenStreams;
  readonly #streams: PodStreams;

  constructor(bus: Bus, writes: Writes, open: OpenStreams) {
    this.#bus = bus;
    this.#writes = writes;
    this.#open = open;
    this.#streams = new PodStreams(bus, open);
  }

  /** Undefined when the subresource is none of these. */
  answer(served: Target['served'], path: PodPath, exchange: Exchange): Promise<Answer> | undefined {
    const { subresource } = path;
    const only = (...methods: string[]): void => {
      exchange.label = `${exchange.method === 'POST' ? 'create' : 'get'} pods/${subresource ?? ''}`;
      if (!methods.includes(exchange.method)) throw new MethodNotAllowed(exchange.method, served, methods);
    };
    switch (subresource) {
      case 'log':
        only('GET');
        return this.#log(served, path, exchange);
      case 'eviction':
        only('POST');
        return this.#evict(served, path, exchange);
      case 'binding':
        only('POST');
        return this.#bind(served, path, exchange);
      case 'exec':
      case 'attach':
      case 'portforward':
        only('GET', 'POST');
        throw badRequest(`Upgrade request required: pods/${subresource} is a stream over WebSocket or SPDY/3.1`);
      default:
        return undefined;
    }
  }

  /** Takes a connection over for exec, attach or port-forward, until it ends. Rejects when it is refused. */
  async upgrade(served: Target['served'], { namespace, name, subresource }: PodPath, upgrade: UpgradeRequest): Promise<void> {
    await this.#streams.open(await podOf(served, namespace, name), subresource as 'exec' | 'attach' | 'portforward', upgrade);
  }

  async #log(served: Target['served'], { namespace, name }: PodPath, exchange: Exchange): Promise<Answer> {
    const options = logOptions(exchange.query, Date.now());
    const pod = await podOf(served, namespace, name);
    const container = containerOf(pod, exchange.query.text('container'));
    // Nothing can have been said where nothing runs yet.
    if (!pod.spec.nodeName) return { status: 200, body: '' };
    const { response } = exchange;
    const release = this.#open.admit('log', () => response.destroy());
    try {
      const pipe = await pipeTo(this.#bus, pod, { kind: 'logs', container, ...options });
      void streamLogs(pipe, response).finally(release);
    } catch (error) {
      release();
      throw error;
    }
    return 'streamed';
  }

  async #evict(served: Target['served'], { namespace, name }: PodPath, exchange: Exchange): Promise<Answer> {
    const { dryRun } = writeOptions(exchange.query);
    const { metadata, deleteOptions = {} } = decode(eviction, await bodyOf(exchange, 'Eviction'), 'Ignore').object as unknown as Eviction;
    if (metadata.name !== undefined && metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object');
    const deletion = toDeletion(deleteOptions);
    await this.#writes.evict({ served, namespace, name }, { ...deletion, dryRun: dryRun || deletion.dryRun }, exchange.user.name);
    return success;
  }

  async #bind(served: Target['served'], { namespace, name }: PodPath, exchange: Exchange): Promise<Answer> {
    const { dryRun } = writeOptions(exchange.query);
    const { metadata, target } = decode(binding, await bodyOf(exchange, 'Binding'), 'Ignore').object as unknown as Binding;
    if (metadata.name !== undefined && metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
    if (target.kind !== undefined && target.kind !== '' && target.kind !== 'Node') throw badRequest(`target.kind: Unsupported value: ${JSON.stringify(target.kind)}: supported values: "Node"`);
    const { uid, resourceVersion } = metadata;
    const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
    await this.#writes.bind({ served, namespace, name }, target.name ?? '', { dryRun, ...(uid || resourceVersion ? { preconditions } : {}) }, exchange.user.name);
    return success;
  }
}

const success: Answer = { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };

const podOf = async (served: Target['served'], namespace: string | undefined, name: string): Promise<Pod> => (await getObject(served, namespace, name)) as KubeObject as Pod;

async function bodyOf(exchange: Exchange, kind: string): Promise<Record<string, unknown>> {
  const { value } = await exchange.body();
  if (!isObject(value)) throw badRequest(`the body must be one ${kind} object`);
  return value;
}
