import { isPodEnded, type Pod, type StatefulSet } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { isControlledBy } from '../../owner.ts';
import { claimed, ownersConcerned } from '../adoption.ts';
import { availableInMs } from '../pod-state.ts';
import { isNamespaceEnding } from '../pods.ts';
import { History } from '../revisions/history.ts';
import { templateOf } from '../revisions/revisions.ts';
import { Claims, withClaimVolumes } from './claims.ts';
import { isWanted, ordinalStatus, planOrdinals, type OrdinalView } from './ordinal-plan.ts';
import { identityOf, ordinalName, ordinalOf, ordinalPod, revisionLabel } from './ordinal-pod.ts';

/** Pods made or ended in one look. */
const burst = 500;

/** Keeps pods that have an identity: each its own name, started, updated and ended in order. */
export function statefulSets(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('statefulset-controller');
  const claims = new Claims(deps);
  const history = new History(deps, caches.statefulSets, 'controller.kubernetes.io/hash');

  const told = async (set: StatefulSet, verb: 'create' | 'delete', name: string, write: () => Promise<unknown>): Promise<void> => {
    const reason = verb === 'create' ? 'Create' : 'Delete';
    try {
      await write();
      tell(set, 'Normal', `Successful${reason}`, `${verb} Pod ${name} in StatefulSet ${set.metadata.name} successful`);
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      tell(set, 'Warning', `Failed${reason}`, `${verb} Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${(error as Error).message}`);
      throw error;
    }
  };

  const toldOfClaim = (set: StatefulSet, ordinal: number) => async (claim: string, write: () => Promise<unknown>): Promise<void> => {
    const pod = ordinalName(set, ordinal);
    try {
      await write();
      tell(set, 'Normal', 'SuccessfulCreate', `create Claim ${claim} Pod ${pod} in StatefulSet ${set.metadata.name} success`);
    } catch (error) {
      if (!isNamespaceEnding(error)) tell(set, 'Warning', 'FailedCreate', `create Claim ${claim} for Pod ${pod} in StatefulSet ${set.metadata.name} failed error: ${(error as Error).message}`);
      throw error;
    }
  };

  function tellOfEnd(set: StatefulSet, { metadata: { name }, status }: Pod): void {
    const what = `StatefulSet ${set.metadata.namespace}/${set.metadata.name} is recreating`;
    if (status?.phase === 'Failed') tell(set, 'Warning', 'RecreatingFailedPod', `${what} failed Pod ${name}`);
    else tell(set, 'Normal', 'RecreatingTerminatedPod', `${what} terminated Pod ${name}`);
  }

  /** Before a pod goes with which its claims are to go. */
  async function keepClaimOwners({ set, pods }: OrdinalView): Promise<void> {
    if ((set.spec.volumeClaimTemplates ?? []).length === 0) return;
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal !== undefined) await claims.keepOwners(set, ordinal, pod, !isWanted(set, ordinal));
    }
  }

  async function act(view: OrdinalView, templates: ReadonlyMap<string, StatefulSet['spec']['template']>): Promise<void> {
    const { set } = view;
    const { open, remove } = planOrdinals(view);
    for (const { ordinal, revision } of open.slice(0, burst)) {
      // A pod without its volumes would be another one.
      await claims.make(set, ordinal, toldOfClaim(set, ordinal));
      const draft = ordinalPod(set, ordinal, withClaimVolumes(set, ordinal, templates.get(revision) ?? set.spec.template), revision);
      await told(set, 'create', ordinalName(set, ordinal), () => objects.create(caches.pods, draft));
    }
    await keepClaimOwners(view);
    for (const pod of remove.slice(0, burst)) {
      if (isPodEnded(pod) && isWanted(set, ordinalOf(set, pod) ?? -1)) tellOfEnd(set, pod);
      await told(set, 'delete', pod.metadata.name, () => objects.delete(caches.pods, pod));
    }
    for (const pod of view.pods) {
      const labels = pod.metadata.deletionTimestamp === undefined && !remove.includes(pod) ? identityOf(set, pod) : undefined;
      if (labels !== undefined) await objects.update(caches.pods, { ...pod, metadata: { ...pod.metadata, labels } });
    }
  }

  return {
    name: 'statefulsets',
    keys: keysOf(caches.statefulSets),
    wakes: [onOwnChange(caches.statefulSets), onChange(caches.pods, ({ object, before }) => ownersConcerned(caches.statefulSets, object, before).map(objectKey))],
    async reconcile(key) {
      const set = byKey(caches.statefulSets, key);
      // While it is being deleted nothing is made that the collector would only have to remove again.
      if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
      const { present, all, collisionCount } = await history.of(set);
      const isMember = (pod: Pod): boolean => ordinalOf(set, pod) !== undefined;
      const claim = { owner: set, owners: caches.statefulSets, selector: set.spec.selector, cache: caches.pods, considered: isMember };
      const updateRevision = present.metadata.name;
      const currentRevision = all.find(({ metadata }) => metadata.name === set.status?.currentRevision)?.metadata.name ?? updateRevision;
      const view: OrdinalView = { set, pods: await claimed(deps, claim), currentRevision, updateRevision, nowMs: Date.now() };
      let problem: unknown;
      try {
        await act(view, new Map(all.map((revision) => [revision.metadata.name, templateOf(revision)])));
      } catch (error) {
        problem = error;
      }

      const now = caches.pods.byOwner(set.metadata.uid).filter((pod) => isControlledBy(pod, set) && isMember(pod));
      const nowMs = Date.now();
      const status = ordinalStatus({ ...view, pods: now, nowMs }, collisionCount);
      await objects.updateStatus(caches.statefulSets, set, status);
      if (problem !== undefined) throw problem;
      const used = new Set([updateRevision, status.currentRevision, ...now.map(({ metadata }) => metadata.labels?.[revisionLabel])]);
      await history.trim(set, all, ({ metadata }) => used.has(metadata.name));
      const waits = now.flatMap((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, nowMs) ?? []).filter((ms) => ms > 0);
      return waits.length === 0 ? undefined : { againAfterMs: Math.min(...waits) };
    },
  };
}
