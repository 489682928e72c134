import { ApiError, conflict, forbidden, invalid, kindByResource, notFound, valueAt, type KubeObject } from '@roundsman/api';
import type { messages } from '@roundsman/bus';
import type { z } from 'zod';
import { agentUser } from '../users.ts';
import { admit } from './admit.ts';
import type { Admitted, AdmissionView, WriteRequest } from './outcome.ts';
import { volumeKept, volumeRemoved } from './volume-removal.ts';

/** What the agent of a node asks to be written. */
export type NodeWrite = z.output<(typeof messages.nodeWrite)['request']>;

const pods = { plural: 'pods', group: '' };
const events = { plural: 'events', group: '' };

/** The same as a write of anybody: for the audit log, and for what is not the agent's to say. */
export function requestOf(node: string, asked: NodeWrite): WriteRequest {
  const base = { fieldValidation: 'Ignore', dryRun: false, user: agentUser(node) } as const;
  if (asked.operation === 'event') {
    const metadata = (asked.event['metadata'] ?? {}) as { namespace?: string; name?: string };
    return { ...base, operation: 'update', resource: 'events', namespace: metadata.namespace ?? 'default', ...(metadata.name !== undefined && { name: metadata.name }), object: asked.event };
  }
  if (asked.operation === 'volumeRemoved') return { ...base, operation: 'update', resource: 'persistentvolumes', namespace: undefined, name: asked.name };
  if (asked.operation === 'volumeKept') return { ...base, operation: 'updateStatus', resource: 'persistentvolumes', namespace: undefined, name: asked.name };
  const at = { resource: 'pods', namespace: asked.namespace, name: asked.name };
  if (asked.operation === 'podGone') return { ...base, ...at, operation: 'delete', gracePeriodSeconds: 0 };
  return { ...base, ...at, operation: 'updateStatus', object: { status: asked.status } };
}

/** Judges what an agent writes. Throws a 403 for what is not of its node, a 404 for a pod that is gone (a new one of its name is another). */
export function admitFromNode(node: string, asked: NodeWrite, view: AdmissionView): Admitted {
  const write = requestOf(node, asked);
  if (asked.operation === 'event') return admitEvent(node, write, view);
  if (asked.operation === 'volumeRemoved') return volumeRemoved(node, asked, write, view);
  if (asked.operation === 'volumeKept') return volumeKept(node, asked, write, view);
  const pod = ownPod(node, asked, view);
  if (asked.operation === 'podGone') {
    if (pod.metadata.deletionTimestamp === undefined) throw conflict(pods, asked.name, 'the pod is not being deleted; only its status may be told');
    return admit(write, view);
  }
  return admit({ ...write, object: { status: mergedStatus(pod, asked.status) } }, view);
}

/** The pod as stored, which must be bound to the node. */
export function ownPod(node: string, asked: { namespace: string; name: string; uid: string }, view: Pick<AdmissionView, 'admitted'>): KubeObject {
  const pod = view.admitted('pods', asked.namespace, asked.name);
  if (pod === undefined || pod.metadata.uid !== asked.uid) throw notFound(pods, asked.name);
  if (valueAt(pod, 'spec', 'nodeName') !== node) throw forbidden(pods, asked.name, `node ${JSON.stringify(node)} can only act on pods with spec.nodeName set to itself`);
  return pod;
}

interface PodStatus extends Record<string, unknown> {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string }[];
}

/** Members of a pod's status that are not the agent's to say. */
const ofOthers = ['qosClass', 'nominatedNodeName', 'resize'];

/** What the agent knows over what it does not: conditions of others stay, and what has ended does not run again. */
function mergedStatus(pod: KubeObject, told: PodStatus): PodStatus {
  const old = (pod.status ?? {}) as PodStatus;
  if ((old.phase === 'Succeeded' || old.phase === 'Failed') && told.phase !== old.phase) {
    const kind = kindByResource.get('pods')!;
    throw invalid(kind, pod.metadata.name, [{ field: 'status.phase', reason: 'FieldValueForbidden', message: `Forbidden: a pod that has ${old.phase === 'Failed' ? 'failed' : 'succeeded'} may not become ${told.phase ?? 'anything else'}` }]);
  }
  const own = (told.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  const others = (old.conditions ?? []).filter(({ type }) => !own.some((one) => one.type === type));
  const next: Record<string, unknown> = { ...told, conditions: [...own, ...others] };
  for (const member of ofOthers) {
    if (old[member] === undefined) delete next[member];
    else next[member] = old[member];
  }
  return next;
}

/** An Event about the node itself or a pod on it; one of its name is replaced when it was the node's, too. */
function admitEvent(node: string, write: WriteRequest, view: AdmissionView): Admitted {
  const { namespace, name, object = {} } = write;
  if (name === undefined) throw new ApiError('BadRequest', 'an event needs a name');
  const about = (object['involvedObject'] ?? {}) as { kind?: string; namespace?: string; name?: string; uid?: string };
  const refused = (why: string): Error => forbidden(events, name, why);
  if (about.kind === 'Node') {
    if (about.name !== node || namespace !== 'default') throw refused(`node ${JSON.stringify(node)} can only tell of itself, in namespace default`);
  } else {
    if (about.kind !== 'Pod' || about.namespace !== namespace) throw refused(`node ${JSON.stringify(node)} can only tell of itself and its pods, in the pod's namespace`);
    const pod = view.admitted('pods', namespace, about.name ?? '');
    if ((about.uid ?? '') === '') throw refused(`node ${JSON.stringify(node)} must say by its uid which pod it tells of`);
    // A pod that has just gone may still be told of, also when another one has its name.
    if (pod !== undefined && pod.metadata.uid === about.uid && valueAt(pod, 'spec', 'nodeName') !== node) throw refused(`node ${JSON.stringify(node)} can only tell of pods with spec.nodeName set to itself`);
  }
  if (valueAt(object, 'source', 'host') !== node) throw refused(`source.host must be ${JSON.stringify(node)}`);
  const before = view.admitted('events', namespace, name);
  if (before !== undefined && valueAt(before, 'source', 'host') !== node) throw refused('an event of another source has this name');
  return admit({ ...write, operation: before === undefined ? 'create' : 'update' }, view);
}
