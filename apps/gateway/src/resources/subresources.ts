import type { Kind } from '@roundsman/api';
import { isTask } from './catalogue.ts';
import type { Served } from './reader.ts';

/** A part of an object, or something done with it, at a path of its own. */
export interface Subresource {
  readonly name: string;
  readonly kind: string;
  /** Of what is sent and answered, where it is not the group and version of the object. */
  readonly of?: Pick<Kind, 'group' | 'version'>;
  readonly verbs: readonly ('create' | 'get' | 'patch' | 'update')[];
}

const changed = ['get', 'patch', 'update'] as const;
/** Opened with GET over WebSocket, with POST over SPDY. */
const streamed = ['create', 'get'] as const;

/** What a kind may name in `subresources`. */
const ofPods: readonly Subresource[] = [
  { name: 'attach', kind: 'PodAttachOptions', verbs: streamed },
  { name: 'binding', kind: 'Binding', verbs: ['create'] },
  { name: 'eviction', kind: 'Eviction', of: { group: 'policy', version: 'v1' }, verbs: ['create'] },
  { name: 'exec', kind: 'PodExecOptions', verbs: streamed },
  { name: 'log', kind: 'Pod', verbs: ['get'] },
  { name: 'portforward', kind: 'PodPortForwardOptions', verbs: streamed },
];

/** All that is served below the objects of a resource. */
export function subresourcesOf(served: Served): Subresource[] {
  const { kind, stored } = served;
  if (stored === undefined) return [];
  const list: Subresource[] = ofPods.filter(({ name }) => kind.subresources?.includes(name));
  if (kind.scale) list.push({ name: 'scale', kind: 'Scale', of: { group: 'autoscaling', version: 'v1' }, verbs: changed });
  if (kind.hasStatus) list.push({ name: 'status', kind: kind.kind, verbs: changed });
  if (isTask(served)) list.push({ name: 'run', kind: kind.kind, verbs: ['create'] }, { name: 'cancel', kind: kind.kind, verbs: ['create'] }, { name: 'live', kind: kind.kind, verbs: ['get'] });
  return list;
}
