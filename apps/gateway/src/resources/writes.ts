import { ApiError, apiVersionOf, badRequest, invalid, notFound, resourceKey, unknownFieldWarnings, withoutUnknown, type FieldValidation, type KubeObject } from '@roundsman/api';
import { messages, ServiceError, type Bus, type Write } from '@roundsman/bus';
import { isDeepStrictEqual } from 'node:util';
import type { Exchange } from '../http/exchange.ts';
import { writeOptions, type WriteOptions } from '../http/query.ts';
import { applyConfiguration } from '../patch/apply.ts';
import type { JsonObject } from '../patch/lists.ts';
import { recordUpdate, type Writer } from '../patch/managed.ts';
import { checkName, confined, objectOf } from './bodies.ts';
import type { Deletion } from './delete-options.ts';
import type { Served, Stored } from './reader.ts';
import type { Target } from './target.ts';

export interface Request extends WriteOptions {
  /** `fieldManager`, or else the first word of the user agent. */
  readonly manager: string;
  readonly user: string;
}

/** Who asks for a write, and how. */
export function requestOf(exchange: Exchange): Request {
  const options = writeOptions(exchange.query);
  const agent = (exchange.headers['user-agent'] ?? 'unknown').split('/')[0] as string;
  return { ...options, manager: options.fieldManager ?? (agent.replaceAll(/[^\x20-\x7e]/g, '').slice(0, 128) || 'unknown'), user: exchange.user.name };
}

export interface Written {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
  readonly created: boolean;
}

const warned = (written: Written, warnings: readonly string[]): Written => ({ ...written, warnings: [...warnings, ...written.warnings] });

/** Tries again this often when somebody else wrote between our read and our write and the client named no version. */
const maxTries = 6;

/** Turns requests into writes on the bus. Reads and computes here, decides nothing: intake admits or refuses. */
export class Writes {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async create(served: Target['served'], namespace: string | undefined, body: unknown, request: Request): Promise<Written> {
    const object = objectOf(served, namespace, body);
    const metadata = object['metadata'] as JsonObject;
    if (metadata['resourceVersion']) throw badRequest('resourceVersion should not be set on objects to be created');
    const name = typeof metadata['name'] === 'string' && metadata['name'] !== '' ? metadata['name'] : undefined;
    if (name === undefined && !metadata['generateName']) throw invalid(served.kind, '', [{ field: 'metadata.name', reason: 'FieldValueRequired', message: 'Required value: name or generateName is required' }]);
    if (served.kind.hasStatus) delete object['status'];
    recordOwners(served, undefined, object, writerOf(served, request));
    return { ...(await this.#write(served, { operation: 'create', namespace, ...(name === undefined ? {} : { name }) }, object, request)), created: true };
  }

  async replace(target: Target, body: unknown, request: Request): Promise<Written> {
    const { served, namespace, name } = target;
    const sent = objectOf(served, namespace, body);
    checkName(sent, name);
    return this.#change(target, request, Boolean((sent['metadata'] as JsonObject)['resourceVersion']), (live) => {
      const next = confined(structuredClone(sent), live, target);
      recordOwners(served, live, next, writerOf(served, request, target.subresource));
      return next;
    });
  }

  /** `patch` makes the next object out of the live one. A version in the patch is kept to; without one the newest is patched. */
  async patch(target: Target, request: Request, patch: (live: JsonObject) => JsonObject): Promise<Written> {
    const { served, namespace, name } = target;
    let versioned = false;
    const changed = this.#change(target, request, () => versioned, (live) => {
      const patched = objectOf(served, namespace, patch(JSON.parse(JSON.stringify(live)) as JsonObject));
      checkName(patched, name);
      const next = confined(patched, live, target);
      const metadata = next['metadata'] as JsonObject;
      versioned = metadata['resourceVersion'] !== (live['metadata'] as JsonObject)['resourceVersion'] && Boolean(metadata['resourceVersion']);
      recordOwners(served, live, next, writerOf(served, request, target.subresource));
      return next;
    });
    return changed.catch((error: unknown) => {
      throw isRefusal(error, 400) ? patchError(error as Error) : error;
    });
  }

  /** Server-side apply; creates what is not there. */
  async apply(target: Target, body: unknown, request: Request): Promise<Written> {
    const { served, namespace, name, subresource } = target;
    if (request.fieldManager === undefined) throw badRequest('PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch');
    const sent = objectOf(served, namespace, body);
    checkName(sent, name);
    const warnings = unknownFieldWarnings(served.kind, sent, request.fieldValidation);
    const configuration = confined(withoutUnknown(served.kind.schema, sent), undefined, target);
    const metadata = configuration['metadata'] as JsonObject;
    metadata['name'] = name;
    if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null) throw badRequest('metadata.managedFields must be nil');
    const { resourceVersion, uid } = metadata;
    const apply = (live: JsonObject | undefined): JsonObject => {
      const result = applyConfiguration(live, configuration, { ...writerOf(served, request, subresource), force: request.force ?? false });
      const merged = result['metadata'] as JsonObject;
      const held = live?.['metadata'] as JsonObject | undefined;
      if (resourceVersion || held) merged['resourceVersion'] = resourceVersion || (held?.['resourceVersion'] as string);
      else delete merged['resourceVersion'];
      if (!uid && held) merged['uid'] = held['uid'] as string;
      return result;
    };
    for (let attempt = 1; ; attempt++) {
      if ((await served.reader.get(namespace, name)) !== undefined) return warned(await this.#change(target, request, Boolean(resourceVersion), apply), warnings);
      if (subresource !== undefined || uid || resourceVersion) throw notFound(served.kind, name);
      try {
        return warned({ ...(await this.#write(served, { operation: 'create', namespace, name }, apply(undefined), request)), created: true }, warnings);
      } catch (error) {
        // Somebody was faster: now it is there to be patched.
        if (attempt >= maxTries || !isRefusal(error, 409)) throw error;
      }
    }
  }

  delete(target: Target, deletion: Deletion, user: string): Promise<KubeObject> {
    return this.#ask(target, { operation: 'delete', ...deletion, user });
  }

  /** Deletes a pod unless a disruption budget is against it. */
  evict(target: Target, deletion: Deletion, user: string): Promise<KubeObject> {
    return this.#ask(target, { operation: 'evict', ...deletion, user });
  }

  /** Places a pod on a node. */
  bind(target: Target, node: string, what: Pick<Deletion, 'preconditions' | 'dryRun'>, user: string): Promise<KubeObject> {
    return this.#ask(target, { operation: 'bind', node, ...what, user });
  }

  async #ask({ served, namespace, name }: Target, what: Omit<Write, 'resource' | 'namespace' | 'name'>): Promise<KubeObject> {
    const { object } = await this.#bus.request(messages.write, {}, { ...what, ...place(served.stored, namespace), name });
    return shown(served.stored, object as unknown as KubeObject);
  }

  /** Reads, computes and writes, again when the object changed in between and the client had not named a version. */
  async #change(target: Target, request: Request, versioned: boolean | (() => boolean), next: (live: JsonObject) => JsonObject): Promise<Written> {
    const { served, namespace, name, subresource } = target;
    for (let attempt = 1; ; attempt++) {
      const live = await served.reader.get(namespace, name);
      if (live === undefined) throw notFound(served.kind, name);
      const object = next(live as unknown as JsonObject);
      const named = typeof versioned === 'function' ? versioned() : versioned;
      if (!named) (object['metadata'] as JsonObject)['resourceVersion'] = live.metadata.resourceVersion;
      if (isDeepStrictEqual(withoutOwners(object), withoutOwners(live as unknown as JsonObject)) && sameOwners(object, live as unknown as JsonObject)) return { object: live, warnings: [], created: false };
      try {
        return { ...(await this.#write(served, { operation: subresource === 'status' ? 'updateStatus' : 'update', namespace, name }, object, request)), created: false };
      } catch (error) {
        if (named || attempt >= maxTries || !isRefusal(error, 409)) throw error;
      }
    }
  }

  async #write(
    served: Target['served'],
    what: { operation: Write['operation']; namespace: string | undefined; name?: string },
    object: JsonObject,
    request: { dryRun: boolean; fieldValidation: FieldValidation; manager: string; user: string },
  ): Promise<{ object: KubeObject; warnings: readonly string[] }> {
    const { stored } = served;
    const { operation, namespace, name } = what;
    const { dryRun, fieldValidation, manager, user } = request;
    const reply = await this.#bus.request(messages.write, {}, {
      operation,
      ...place(stored, namespace),
      ...(name === undefined ? {} : { name }),
      object,
      ...(stored.view ? { view: stored.view.apiVersion } : {}),
      fieldValidation,
      fieldManager: manager,
      dryRun,
      user,
    });
    return { object: shown(stored, reply.object as unknown as KubeObject), warnings: reply.warnings };
  }
}

const place = ({ kind, view }: Stored, namespace: string | undefined): { resource: string; namespace?: string } => {
  const where = view?.namespace ?? namespace;
  return { resource: resourceKey(kind), ...(where === undefined ? {} : { namespace: where }) };
};
const shown = ({ view }: Stored, object: KubeObject): KubeObject => (view && object.apiVersion !== view.apiVersion ? view.fromStored(object) : object);

const writerOf = (served: Served, { manager }: Request, subresource?: string): Writer => ({
  manager,
  apiVersion: apiVersionOf(served.kind),
  ...(subresource === undefined ? {} : { subresource }),
  now: Date.now(),
});

/** What does not decode after a patch makes the patch invalid: `kubectl edit` then offers the text again. */
function patchError(error: Error): Error {
  const at = error.message.indexOf('strict decoding error: ');
  if (at < 0) return error;
  const message = `Invalid value: the patched object: ${error.message.slice(at)}`;
  return new ApiError('Invalid', ` "" is invalid: patch: ${message}`, { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] });
}

/** Who owns what of `next`: what its kind does not know is not kept, so nobody owns it. Intake refuses it, or warns of it and drops it. */
function recordOwners({ kind }: Served, live: JsonObject | undefined, next: JsonObject, writer: Writer): void {
  const kept = withoutUnknown(kind.schema, next);
  recordUpdate(live, kept, writer);
  const { managedFields } = kept['metadata'] as JsonObject;
  if (managedFields === undefined) delete (next['metadata'] as JsonObject)['managedFields'];
  else (next['metadata'] as JsonObject)['managedFields'] = managedFields;
}

const isRefusal = (error: unknown, code: number): boolean => (error instanceof ServiceError || error instanceof ApiError) && error.code === code;

function withoutOwners(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = object['metadata'] as JsonObject;
  return { ...object, metadata };
}

/** The same owners of the same fields; times do not count. */
function sameOwners(a: JsonObject, b: JsonObject): boolean {
  const owners = (object: JsonObject): unknown => (((object['metadata'] as JsonObject)['managedFields'] ?? []) as JsonObject[]).map((entry) => ({ ...entry, time: null }));
  return isDeepStrictEqual(owners(a), owners(b));
}

