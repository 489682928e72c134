import { kindByResource, type Condition, type KubeObject } from '@roundsman/api';
import { timestamp } from './admission/outcome.ts';

/** What is still in a namespace that ends. */
export interface Remains {
  readonly resource: string;
  readonly object: KubeObject;
}

/** Of each condition of a namespace that ends, its reason and message while nothing is wrong, as Kubernetes words them. */
const settled = {
  NamespaceDeletionDiscoveryFailure: ['ResourcesDiscovered', 'All resources successfully discovered'],
  NamespaceDeletionGroupVersionParsingFailure: ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  NamespaceDeletionContentFailure: ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
  NamespaceContentRemaining: ['ContentRemoved', 'All content successfully removed'],
  NamespaceFinalizersRemaining: ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
} as const;

/** Why a namespace is still there: what is left in it, and which finalizers that waits for. */
export function conditionsOf(remains: readonly Remains[], before: readonly Condition[], now: number): Condition[] {
  const resources = counted(remains.map(({ resource }) => ((kindByResource.get(resource)?.group ?? '') === '' ? `${resource}.` : resource)));
  const finalizers = counted(remains.flatMap(({ object }) => object.metadata.finalizers ?? []));
  const wrong: Partial<Record<keyof typeof settled, readonly [reason: string, message: string]>> = {
    ...(resources.length > 0 && { NamespaceContentRemaining: ['SomeResourcesRemain', `Some resources are remaining: ${listed(resources, 'has')}`] }),
    ...(finalizers.length > 0 && { NamespaceFinalizersRemaining: ['SomeFinalizersRemain', `Some content in the namespace has finalizers remaining: ${listed(finalizers, 'in')}`] }),
  };
  return (Object.keys(settled) as (keyof typeof settled)[]).map((type) => {
    const [reason, message] = wrong[type] ?? settled[type];
    const status = wrong[type] === undefined ? 'False' : 'True';
    const old = before.find((condition) => condition.type === type);
    return { type, status, reason, message, lastTransitionTime: old?.status === status ? old.lastTransitionTime : timestamp(now) };
  });
}

/** Each with how often it came, in order. */
function counted(names: readonly string[]): [name: string, count: number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

const listed = (counts: readonly [name: string, count: number][], word: string): string => counts.map(([name, count]) => `${name} ${word} ${count} resource instances`).join(', ');
