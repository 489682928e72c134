import type { Deployment, KubeObject, ReplicaSet } from '@roundsman/api';
import type { Limits } from './limits.ts';
import { desiredAnnotation, maxAnnotation, wholeNumber } from './sizes.ts';

export const revisionAnnotation = 'deployment.kubernetes.io/revision';
/** Earlier revisions of a set that was rolled back to, separated by commas. */
const historyAnnotation = 'deployment.kubernetes.io/revision-history';
const historyLimit = 2_000;
/** What is not the replica sets' business, or their own. */
const notCopied: ReadonlySet<string> = new Set(['kubectl.kubernetes.io/last-applied-configuration', 'deprecated.deployment.rollback.to', revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation]);

type Annotations = Readonly<Record<string, string>>;
type Annotated = Pick<KubeObject, 'metadata'>;

/** 0 when it has none. */
export const revisionOf = ({ metadata }: Annotated): number => wholeNumber(metadata.annotations?.[revisionAnnotation]) ?? 0;

/** That of the set for the present template: after all others. */
export const nextRevision = (old: readonly ReplicaSet[]): number => Math.max(0, ...old.map(revisionOf)) + 1;

/**
 * Annotations of the set for the present template: those of the deployment (so the change-cause), and the revision, which only grows; a
 * set that comes to honour again remembers its earlier revisions.
 */
export function newSetAnnotations(deployment: Deployment, existing: Annotations | undefined, revision: number): Record<string, string> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !notCopied.has(key));
  const annotations: Record<string, string> = { ...existing, ...Object.fromEntries(copied) };
  const before = existing?.[revisionAnnotation];
  const known = before === undefined || before === '' ? 0 : wholeNumber(before);
  if (known === undefined || known >= revision) return annotations;
  annotations[revisionAnnotation] = String(revision);
  if (before === undefined || before === '') return annotations;
  const history = (existing?.[historyAnnotation] ?? '').split(',').filter((one) => one !== '');
  history.push(before);
  while (history.length > 1 && history.join(',').length > historyLimit) history.shift();
  annotations[historyAnnotation] = history.join(',');
  return annotations;
}

/** What a set keeps of the size of its deployment, so that a later scaling is noticed and shared out. */
export const sizeAnnotations = ({ replicas, maxSurge }: Limits): Record<string, string> => ({ [desiredAnnotation]: String(replicas), [maxAnnotation]: String(replicas + maxSurge) });

/** Old sets beyond the history that is kept, oldest revision first; those with pods stay. */
export function outdated(old: readonly ReplicaSet[], limit: number): ReplicaSet[] {
  if (limit === 2 ** 31 - 1) return [];
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return alive
    .sort((a, b) => revisionOf(a) - revisionOf(b) || Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp))
    .slice(0, Math.max(0, alive.length - limit))
    .filter(({ metadata, spec, status }) => spec.replicas === 0 && (status?.replicas ?? 0) === 0 && (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0));
}
