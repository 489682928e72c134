import type { KubeObject, PersistentVolumeClaim, Pod, PodTemplateSpec, StatefulSet } from '@roundsman/api';
import type { Deps } from '../../loop.ts';
import type { Draft } from '../../objects.ts';
import { withLists, type OwnerReference } from '../../owner.ts';
import { isNameTaken } from '../pods.ts';
import { ordinalName, ordinalOf } from './ordinal-pod.ts';

export interface ClaimDraft extends Draft {
  readonly apiVersion: 'v1';
  readonly kind: 'PersistentVolumeClaim';
  readonly spec: PersistentVolumeClaim['spec'];
}

type Template = NonNullable<StatefulSet['spec']['volumeClaimTemplates']>[number];
const claimName = (set: StatefulSet, { metadata }: Template, ordinal: number): string => `${metadata.name}-${ordinalName(set, ordinal)}`;

/** The claims of the pod of an ordinal; always the same names, so that a pod finds again what the one before it left. */
export function ordinalClaims(set: StatefulSet, ordinal: number): ClaimDraft[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) => {
    const { labels, annotations } = template.metadata;
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: claimName(set, template, ordinal), namespace: set.metadata.namespace, labels: { ...labels, ...set.spec.selector.matchLabels }, ...(annotations == null ? {} : { annotations }) },
      spec: template.spec,
    };
  });
}

/** The template with a volume for each claim, in place of any of that name. */
export function withClaimVolumes(set: StatefulSet, ordinal: number, template: PodTemplateSpec): PodTemplateSpec {
  const volumes = (set.spec.volumeClaimTemplates ?? []).map((one) => ({ name: one.metadata.name ?? '', persistentVolumeClaim: { claimName: claimName(set, one, ordinal) } }));
  if (volumes.length === 0) return template;
  const others = (template.spec.volumes ?? []).filter(({ name }) => !volumes.some((own) => own.name === name));
  return { ...template, spec: { ...template.spec, volumes: [...volumes, ...others] } };
}

/** With whom a claim goes, as the retention policy has it: with the set, with the pod that is not wanted any more, or with nobody. */
export function claimOwners(set: StatefulSet, claim: PersistentVolumeClaim, pod: Pod | undefined, condemned: boolean): OwnerReference[] {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy;
  const reference = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({ apiVersion, kind, name: metadata.name, uid: metadata.uid });
  const isOurs = ({ kind, name }: OwnerReference): boolean => (kind === 'StatefulSet' && name === set.metadata.name) || (kind === 'Pod' && ordinalOf(set, { metadata: { name } } as Pod) !== undefined);
  const others = (claim.metadata.ownerReferences ?? []).filter((one) => !isOurs(one));
  if (condemned && whenScaled === 'Delete') return pod === undefined ? (claim.metadata.ownerReferences ?? []) : [...others, reference(pod)];
  return whenDeleted === 'Delete' ? [...others, reference(set)] : others;
}

const sameOwners = (a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean => a.length === b.length && a.every(({ uid }) => b.some((other) => other.uid === uid));

/** Makes the claims of stateful sets, and says with whom they go. */
export class Claims {
  readonly #deps: Pick<Deps, 'caches' | 'objects'>;

  constructor(deps: Pick<Deps, 'caches' | 'objects'>) {
    this.#deps = deps;
  }

  /** Makes those that are missing. `told`: writes, and tells of it. */
  async make(set: StatefulSet, ordinal: number, told: (name: string, write: () => Promise<unknown>) => Promise<void>): Promise<void> {
    const { caches, objects } = this.#deps;
    for (const draft of ordinalClaims(set, ordinal)) {
      const { name = '' } = draft.metadata;
      const there = caches.claims.get(set.metadata.namespace, name);
      if (there?.metadata.deletionTimestamp !== undefined) throw new Error(`claim ${name} is being deleted`);
      if (there === undefined) {
        await told(name, async () => {
          await objects.create(caches.claims, draft).catch((error: unknown) => {
            if (!isNameTaken(error)) throw error;
          });
        });
      }
    }
  }

  async keepOwners(set: StatefulSet, ordinal: number, pod: Pod | undefined, condemned: boolean): Promise<void> {
    const { caches, objects } = this.#deps;
    for (const { metadata } of ordinalClaims(set, ordinal)) {
      const claim = caches.claims.get(set.metadata.namespace, metadata.name ?? '');
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const ownerReferences = claimOwners(set, claim, pod, condemned);
      if (!sameOwners(ownerReferences, claim.metadata.ownerReferences ?? [])) await objects.update(caches.claims, { ...claim, metadata: withLists(claim.metadata, { ownerReferences }) });
    }
  }
}
