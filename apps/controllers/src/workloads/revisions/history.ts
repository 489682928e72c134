import type { KubeObject, ObjectSelector, PodTemplateSpec } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Deps } from '../../loop.ts';
import { controllerOf, controllerReference } from '../../owner.ts';
import { claimed } from '../adoption.ts';
import { sameTemplate, templateHash } from '../template-hash.ts';
import { outdated, revisionData, revisionFor, templateOf, type Revision } from './revisions.ts';

/** A workload whose templates are kept as ControllerRevisions. */
export type Revised = KubeObject<{ selector: ObjectSelector; template: PodTemplateSpec; revisionHistoryLimit: number }, { collisionCount?: number | undefined } | undefined>;

export interface Revisions {
  /** Of the present template. */
  readonly present: Revision;
  readonly all: readonly Revision[];
  /** How often a name was taken by something else; belongs into the status. */
  readonly collisionCount: number;
}

/** Keeps the history of one kind of workload. */
export class History {
  readonly #deps: Pick<Deps, 'caches' | 'objects'>;
  readonly #owners: Informer;
  readonly #hashLabel: string;

  /** `owners`: the cache of the workloads. `hashLabel`: label of a revision that holds the hash in its name. */
  constructor(deps: Pick<Deps, 'caches' | 'objects'>, owners: Informer, hashLabel: string) {
    this.#deps = deps;
    this.#owners = owners;
    this.#hashLabel = hashLabel;
  }

  /** Makes or renumbers the revision of the present template when that is needed. */
  async of(owner: Revised): Promise<Revisions> {
    const { caches, objects } = this.#deps;
    const cache = caches.controllerRevisions;
    const all = await claimed(this.#deps, { owner, owners: this.#owners, selector: owner.spec.selector, cache });
    const collisionCount = owner.status?.collisionCount ?? 0;
    const { revision, number } = revisionFor(all, owner.spec.template);
    if (revision === undefined) return this.#make(owner, all, number, collisionCount);
    if (revision.revision === number) return { present: revision, all, collisionCount };
    const present = await objects.update(cache, { ...revision, revision: number });
    return { present, all: all.map((one) => (one === revision ? present : one)), collisionCount };
  }

  /** Removes the oldest ones that nothing uses. */
  async trim(owner: Revised, revisions: readonly Revision[], isUsed: (revision: Revision) => boolean): Promise<void> {
    for (const revision of outdated(revisions, isUsed, owner.spec.revisionHistoryLimit)) await this.#deps.objects.delete(this.#deps.caches.controllerRevisions, revision);
  }

  async #make(owner: Revised, all: readonly Revision[], number: number, collisionCount: number): Promise<Revisions> {
    const { caches, objects } = this.#deps;
    const cache = caches.controllerRevisions;
    const { template } = owner.spec;
    const { name, namespace, uid, annotations } = owner.metadata;
    const hash = templateHash(template, collisionCount);
    const draft = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels: { ...template.metadata.labels, [this.#hashLabel]: hash },
        annotations: { ...annotations },
        ownerReferences: [controllerReference(owner)],
      },
      data: revisionData(template),
      revision: number,
    };
    try {
      const present = await objects.create(cache, draft);
      return { present, all: [...all, present], collisionCount };
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 409)) throw error;
      const taken = (await caches.stored(cache.resource, namespace, draft.metadata.name)) as Revision | undefined;
      if (taken === undefined) throw error;
      if (controllerOf(taken)?.uid === uid && sameTemplate(templateOf(taken), template)) return { present: taken, all: [...all, taken], collisionCount };
      return this.#make(owner, all, number, collisionCount + 1);
    }
  }
}
