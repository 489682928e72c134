import type { ControllerRevision, KubeObject, PodTemplateSpec } from '@roundsman/api';
import { sameTemplate } from '../template-hash.ts';

export type Revision = ControllerRevision & KubeObject;

/** What a revision holds: the patch that puts the template back, as `kubectl rollout undo` sends it. */
export const revisionData = (template: PodTemplateSpec) => ({ spec: { template: { ...template, $patch: 'replace' } } });

/** The template that a revision holds. */
export function templateOf({ data }: Revision): PodTemplateSpec {
  const { $patch: _, ...template } = (data as unknown as ReturnType<typeof revisionData>).spec.template;
  return template;
}

export const newestFirst = (revisions: readonly Revision[]): Revision[] =>
  [...revisions].sort((a, b) => b.revision - a.revision || Date.parse(b.metadata.creationTimestamp) - Date.parse(a.metadata.creationTimestamp) || (a.metadata.name < b.metadata.name ? 1 : -1));

/** The revision of a template, and the number it is to have: the highest. A template that was gone back to keeps its revision under a new number. */
export function revisionFor(revisions: readonly Revision[], template: PodTemplateSpec): { revision: Revision | undefined; number: number } {
  const ordered = newestFirst(revisions);
  const revision = ordered.find((one) => sameTemplate(templateOf(one), template));
  if (revision !== undefined && revision === ordered[0]) return { revision, number: revision.revision };
  return { revision, number: (ordered[0]?.revision ?? 0) + 1 };
}

/** The oldest of those that nothing uses any more, as far as they are more than are to be kept. */
export function outdated(revisions: readonly Revision[], isUsed: (revision: Revision) => boolean, kept: number): Revision[] {
  return newestFirst(revisions.filter((revision) => !isUsed(revision))).slice(Math.max(0, kept));
}
