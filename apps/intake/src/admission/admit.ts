import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  alreadyExists, ApiError, badRequest, conflict, decode, forbidden, invalid, kindByResource, metadataCauses, modified, notFound, viewOf,
  type AdmissionContext, type Cause, type Kind, type KubeObject, type ObjectMeta, type StoredMeta,
} from '@roundsman/api';
import { checkHost } from '../addresses/hosts.ts';
import { checkPodCidrs } from '../addresses/pod-cidrs.ts';
import { completeService } from '../addresses/services.ts';
import { isInternal } from '../users.ts';
import { bind } from './binding.ts';
import { endsWith, remove } from './deletion.ts';
import { evict } from './eviction.ts';
import { completeIngress } from './ingress-class.ts';
import { admitted, timestamp, unchanged, type Admitted, type AdmissionView, type WriteRequest } from './outcome.ts';
import { completePod } from './pods.ts';
import { onlyOneDefault } from './priority-classes.ts';
import { completeClaim, completeVolume } from './storage.ts';

type Body = Record<string, unknown>;
/** Text that says something; anything else counts as not given. */
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
/** What objects get from others, or may not be beside them. They may change the object. */
const completions: Readonly<Record<string, (object: KubeObject, view: AdmissionView, old: KubeObject | undefined) => void>> = { nodes: checkPodCidrs, pods: completePod, persistentvolumes: completeVolume, persistentvolumeclaims: completeClaim, services: completeService, 'ingresses.networking.k8s.io': completeIngress, 'dnses.roundsman.io': checkHost, 'priorityclasses.scheduling.k8s.io': onlyOneDefault };

const isRecord = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Judges one write. Throws an ApiError when it is refused; changes nothing. */
export function admit(write: WriteRequest, view: AdmissionView): Admitted {
  const kind = kindByResource.get(write.resource);
  if (kind === undefined) throw new ApiError('NotFound', `the server could not find the requested resource (${write.resource})`);
  if (kind.virtual === true) throw new ApiError('MethodNotAllowed', `${write.resource} are read-only: they are made from measured results`);
  if (kind.internal === true && write.operation !== 'delete' && !isInternal(write.user)) {
    throw forbidden(kind, write.name ?? '', `${kind.plural} are written by Roundsman itself`);
  }
  if (write.operation === 'create') return create(kind, write, view);
  const name = write.name;
  if (name === undefined) throw badRequest('the name of the object is required');
  const old = view.admitted(write.resource, write.namespace, name);
  if (old === undefined) throw notFound(kind, name);
  if (write.operation === 'delete') return remove(kind, old, write, view);
  if (write.operation === 'bind' || write.operation === 'evict') {
    if (write.resource !== 'pods') throw new ApiError('MethodNotAllowed', `${write.operation} is for pods`);
    return write.operation === 'bind' ? bind(kind, old, write, view) : evict(kind, old, write, view);
  }
  return change(kind, old, write, view);
}

/** The caller's object in stored form, with its metadata checked against the request. */
function bodyOf(kind: Kind, write: WriteRequest, old: KubeObject | undefined, { admitted: get, list }: AdmissionView): { body: Body; warnings: string[]; view: string | undefined } {
  if (write.object === undefined) throw badRequest('the object is required');
  const { metadata } = write.object;
  if (metadata !== undefined && !isRecord(metadata)) throw badRequest('metadata must be an object');
  const view = write.view === undefined ? undefined : viewOf(write.view, write.resource);
  if (write.view !== undefined && view === undefined) throw badRequest(`${write.view} is not a view of ${write.resource}`);
  let body: Body = write.object;
  let warnings: string[] = [];
  if (view !== undefined && body['apiVersion'] === write.view) ({ object: body, warnings } = view.fromView(body, old, write.fieldValidation, { get, list }));
  const given = (isRecord(body['metadata']) ? body['metadata'] : {}) as ObjectMeta;
  // What is not even text is told by the schema.
  const sent = { name: textOf(given.name), namespace: textOf(given.namespace) };
  const namespace = kind.namespaced ? (write.namespace ?? given.namespace) : given.namespace;
  if (kind.namespaced && sent.namespace !== undefined && sent.namespace !== namespace) {
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request (${sent.namespace} is not ${namespace})`);
  }
  if (write.name !== undefined && sent.name !== undefined && sent.name !== write.name) {
    throw badRequest(`the name of the object (${sent.name}) does not match the name on the URL (${write.name})`);
  }
  const wrongType = (value: unknown): boolean => value !== undefined && value !== null && typeof value !== 'string';
  const named = wrongType(given.name) ? given.name : (write.name ?? given.name);
  body = { ...body, metadata: { ...given, ...(named !== undefined && { name: named }), ...(namespace !== undefined && { namespace }) } };
  return { body, warnings, view: write.view };
}

function create(kind: Kind, write: WriteRequest, view: AdmissionView): Admitted {
  const { body, warnings, view: viewName } = bodyOf(kind, write, undefined, view);
  const meta = body['metadata'] as ObjectMeta;
  if (textOf(meta.resourceVersion) !== undefined) throw badRequest('resourceVersion should not be set on objects to be created');
  if (((meta.name as unknown) ?? '') === '' && typeof meta.generateName === 'string' && meta.generateName !== '') meta.name = generatedName(meta.generateName, (name) => view.admitted(write.resource, kind.namespaced ? meta.namespace : undefined, name) !== undefined);
  if (kind.namespaced) requireNamespace(kind, meta, view);
  const keepStatus = kind.hasStatus && isInternal(write.user);
  if (!keepStatus) delete body['status'];
  // Some kinds put it into their labels (Job).
  const uid = randomUUID();
  meta.uid = uid;
  kind.prepare?.(body, undefined);
  const decoded = decode(kind, body, write.fieldValidation);
  const { object } = decoded;
  const name = object.metadata.name ?? '';
  completions[write.resource]?.(object, view, undefined);
  warnings.push(...decoded.warnings, ...judge(kind, object, undefined, viewName, view));
  const existing = view.admitted(write.resource, kind.namespaced ? object.metadata.namespace : undefined, name);
  if (existing !== undefined) {
    if (existing.metadata.deletionTimestamp !== undefined) throw new ApiError('AlreadyExists', `object is being deleted: ${alreadyExists(kind, name).message}`, alreadyExists(kind, name).status.details);
    throw alreadyExists(kind, name);
  }
  const { deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, selfLink: _link, ...rest } = object.metadata;
  const metadata: StoredMeta = { ...rest, uid, resourceVersion: '', generation: 1, creationTimestamp: timestamp(view.now) };
  // Where nothing is desired there is nothing to count.
  if (desired(kind, object) === undefined) delete (metadata as ObjectMeta).generation;
  return admitted(kind, 'ADDED', { ...object, metadata }, warnings, write);
}

/** What `metadata.generation` counts the changes of; undefined for kinds without one. */
const desired = (kind: Kind, object: KubeObject): unknown => (kind.generationOf === undefined ? (object.spec ?? {}) : kind.generationOf(object));

function change(kind: Kind, old: KubeObject, write: WriteRequest, view: AdmissionView): Admitted {
  if (write.operation === 'updateStatus' && !kind.hasStatus) throw notFound(kind, `${write.name}/status`);
  const { body, warnings, view: viewName } = bodyOf(kind, write, old, view);
  const meta = body['metadata'] as ObjectMeta;
  const version = textOf(meta.resourceVersion);
  const uid = textOf(meta.uid);
  if (version !== undefined && version !== old.metadata.resourceVersion) throw modified(kind, old.metadata.name);
  if (uid !== undefined && uid !== old.metadata.uid) {
    throw conflict(kind, old.metadata.name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`);
  }
  // Status and the rest have different writers: each write only touches its own part.
  // What a person sends beside the status is not taken, but nonsense is not waved through either.
  if (write.operation === 'updateStatus' && body['spec'] !== undefined && !isInternal(write.user)) decode(kind, { ...old, spec: body['spec'] }, write.fieldValidation);
  const merged: Body = write.operation === 'updateStatus' ? { ...old, status: body['status'] } : withStatusOf(body, old);
  if (write.operation === 'update') kind.prepare?.(merged, old);
  const decoded = write.operation === 'updateStatus' ? decodeStatus(kind, merged, write) : decode(kind, merged, write.fieldValidation);
  const { object } = decoded;
  warnings.push(...decoded.warnings);
  object.metadata = write.operation === 'updateStatus' ? old.metadata : keptMetadata(kind, object.metadata, old.metadata);
  if (write.operation === 'update') {
    completions[write.resource]?.(object, view, old);
    warnings.push(...judge(kind, object, old, viewName, view));
    if (!isDeepStrictEqual(desired(kind, object), desired(kind, old))) object.metadata.generation = old.metadata.generation + 1;
  }
  if (endsWith(kind, old.metadata, object.metadata)) return admitted(kind, 'DELETED', object, warnings, write);
  if (isDeepStrictEqual(object, old)) return unchanged(kind, old, warnings);
  return admitted(kind, 'MODIFIED', object, warnings, write);
}

/** What was stored under other rules keeps its status up to date all the same: of a status, only the status is judged. */
function decodeStatus(kind: Kind, merged: Body, { fieldValidation }: WriteRequest): { object: KubeObject; warnings: string[] } {
  try {
    return decode(kind, merged, fieldValidation);
  } catch (error) {
    const causes = error instanceof ApiError && error.code === 422 ? (error.status.details?.causes ?? []) : [];
    if (causes.length === 0 || causes.some(({ field }) => field === undefined || /^status\b/.test(field))) throw error;
    return { object: merged as unknown as KubeObject, warnings: [] };
  }
}

function withStatusOf(body: Body, old: KubeObject): Body {
  const { status: _status, ...rest } = body;
  return old.status === undefined ? rest : { ...rest, status: old.status };
}

/** What the server owns stays as it was. */
function keptMetadata(kind: Kind, given: ObjectMeta, old: StoredMeta): StoredMeta {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = old;
  const metadata: StoredMeta = { ...given, name: old.name, uid, resourceVersion, generation, creationTimestamp };
  if (generation === undefined) delete (metadata as ObjectMeta).generation;
  delete metadata.selfLink;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (deletionTimestamp !== undefined) {
    metadata.deletionTimestamp = deletionTimestamp;
    if (deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
    const added = (given.finalizers ?? []).filter((finalizer) => !(old.finalizers ?? []).includes(finalizer));
    if (added.length > 0) {
      const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
      throw invalid(kind, old.name, [{ field: 'metadata.finalizers', reason: 'FieldValueForbidden', message }]);
    }
  }
  // A client that does not track managers leaves them out; that is no change.
  if (metadata.managedFields === undefined && old.managedFields !== undefined) metadata.managedFields = old.managedFields;
  return metadata;
}

function requireNamespace(kind: Kind, meta: ObjectMeta, view: AdmissionView): void {
  // An absent or malformed name is told by the rules of metadata.
  const name = textOf(meta.namespace);
  if (name === undefined) return;
  const namespace = view.admitted('namespaces', undefined, name);
  if (namespace === undefined) throw notFound({ plural: 'namespaces', group: '' }, name);
  if (namespace.metadata.deletionTimestamp !== undefined) {
    throw forbidden(kind, textOf(meta.name) ?? '', `unable to create new content in namespace ${name} because it is being terminated`);
  }
}

/**
 * The rules a schema cannot say. On update only what is wrong newly counts: an object that was fine when it was written
 * stays writable when limits change. Returns warnings, throws when there are causes.
 */
function judge(kind: Kind, object: KubeObject, old: KubeObject | undefined, viewName: string | undefined, view: AdmissionView): string[] {
  const context: AdmissionContext = {
    get: view.admitted,
    list: view.list,
    limits: view.limits,
    policy: view.policy,
    now: view.now,
    ...(old !== undefined && { old }),
    ...(viewName !== undefined && { view: viewName }),
  };
  let causes: Cause[] = metadataCauses(kind, object.metadata);
  let warnings: string[] = [];
  const found = kind.validate?.(object, context);
  if (found !== undefined) {
    causes = causes.concat(found.causes);
    ({ warnings } = found);
  }
  if (old !== undefined && (causes.length > 0 || warnings.length > 0)) {
    const complete = readAgain(kind, old);
    const before = complete && kind.validate?.(complete, context);
    const known = new Set([...metadataCauses(kind, old.metadata), ...(before?.causes ?? [])].map(({ field, message }) => `${field}: ${message}`));
    causes = causes.filter(({ field, message }) => !known.has(`${field}: ${message}`));
    warnings = warnings.filter((warning) => !(before?.warnings ?? []).includes(warning));
  }
  if (causes.length > 0) throw invalid(kind, object.metadata.name ?? '', causes);
  return warnings;
}

/** A stored object with the defaults of today; undefined when today's schema refuses it. */
function readAgain(kind: Kind, old: KubeObject): KubeObject | undefined {
  try {
    return decode(kind, old as unknown as Body, 'Ignore').object;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

const letters = 'bcdfghjklmnpqrstvwxz2456789';
/** Characters of a prefix that are kept: what is generated is no longer than a label. */
const longestPrefix = 58;
/** The prefix and five characters that spell no word, as Kubernetes makes them; others when the name is taken, eight times at most. */
function generatedName(prefix: string, taken: (name: string) => boolean): string {
  for (let attempt = 1; ; attempt++) {
    const name = prefix.slice(0, longestPrefix) + Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => letters[byte % letters.length]).join('');
    if (attempt === 8 || !taken(name)) return name;
  }
}
