import { isDeepStrictEqual } from 'node:util';
import type { Deployment, ReplicaSet } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { controllerOf, controllerReference } from '../../owner.ts';
import { claimed, ownersConcerned } from '../adoption.ts';
import { isNamespaceEnding } from '../pods.ts';
import { conditionOf, withCondition, type Conditions } from './conditions.ts';
import { countedStatus, hasDeadline, isComplete, overdueAtMs, rolloutStatus, withPause } from './deployment-status.ts';
import { limitsOf } from './limits.ts';
import { newSetAnnotations, nextRevision, outdated, revisionAnnotation, sizeAnnotations } from './revisions.ts';
import { desiredAnnotation, newSetSize, oldestFirst, proportionalSizes, shrinkOld, sizeOf, wholeNumber, type Resize, type SetSize } from './sizes.ts';
import { hashLabel, sameTemplate, templateHash } from '../template-hash.ts';

/** One look at one deployment: what it found and has done so far. Its sets are replaced as they are written. */
interface Look {
  readonly deployment: Deployment;
  newSet: ReplicaSet | undefined;
  old: ReplicaSet[];
  conditions: Conditions;
  collisionCount: number;
}

/** Rolls out new templates by replica sets, one for each template, within the limits of its strategy. */
export function deployments(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('deployment-controller');

  /** Sizes one of the sets; the event tells from what to what. */
  async function resize(look: Look, set: ReplicaSet, replicas: number): Promise<void> {
    const annotations = { ...set.metadata.annotations, ...sizeAnnotations(limitsOf(look.deployment)) };
    const before = set.spec.replicas;
    if (before === replicas && isDeepStrictEqual(annotations, set.metadata.annotations)) return;
    const written = await objects.update(caches.replicaSets, { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } });
    if (look.newSet === set) look.newSet = written;
    else look.old = look.old.map((one) => (one === set ? written : one));
    if (before === replicas) return;
    tell(look.deployment, 'Normal', 'ScalingReplicaSet', `Scaled ${replicas > before ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} to ${replicas}`);
  }

  async function resizeAll(look: Look, sizes: readonly Resize[]): Promise<void> {
    for (const { name, replicas } of sizes) {
      const set = [look.newSet, ...look.old].find((one) => one?.metadata.name === name);
      if (set !== undefined) await resize(look, set, replicas);
    }
  }

  /** The set for the present template follows its deployment: annotations, revision, readiness time. */
  async function follow(look: Look, set: ReplicaSet): Promise<void> {
    const { deployment } = look;
    const annotations = newSetAnnotations(deployment, set.metadata.annotations, nextRevision(look.old));
    const { minReadySeconds } = deployment.spec;
    if (!isDeepStrictEqual(annotations, { ...set.metadata.annotations }) || minReadySeconds !== set.spec.minReadySeconds) {
      const { minReadySeconds: _before, ...spec } = set.spec;
      look.newSet = await objects.update(caches.replicaSets, { ...set, metadata: { ...set.metadata, annotations }, spec: { ...spec, ...(minReadySeconds === undefined ? {} : { minReadySeconds }) } });
    }
    if (hasDeadline(deployment) && conditionOf(look.conditions, 'Progressing') === undefined) {
      look.conditions = withCondition(look.conditions, { type: 'Progressing', status: 'True', reason: 'FoundNewReplicaSet', message: `Found new replica set "${set.metadata.name}"` }, Date.now());
    }
  }

  /** Makes the set for the present template. Throws when its name is taken (the next look tries another) or it is refused. */
  async function make(look: Look): Promise<ReplicaSet> {
    const { deployment } = look;
    const { spec, metadata } = deployment;
    const hash = templateHash(spec.template, look.collisionCount);
    const name = `${metadata.name}-${hash}`;
    const labels = { ...spec.template.metadata.labels, [hashLabel]: hash };
    const limits = limitsOf(deployment);
    const empty: SetSize = { name, replicas: 0, actual: 0, available: 0, observed: true, createdMs: Date.now(), maxReplicas: 0 };
    const replicas = spec.strategy.type === 'Recreate' ? spec.replicas : newSetSize(limits, empty, look.old.map(sizeOf));
    const draft = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name,
        namespace: metadata.namespace,
        labels,
        annotations: { ...newSetAnnotations(deployment, undefined, nextRevision(look.old)), ...sizeAnnotations(limits) },
        ownerReferences: [controllerReference(deployment)],
      },
      spec: {
        replicas,
        ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
        selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash } },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    };
    try {
      const made = await objects.create(caches.replicaSets, draft);
      if (replicas > 0) tell(deployment, 'Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`);
      if (hasDeadline(deployment)) {
        look.conditions = withCondition(look.conditions, { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` }, Date.now());
      }
      return made;
    } catch (error) {
      const taken = error instanceof ServiceError && error.code === 409 ? ((await caches.stored(caches.replicaSets.resource, metadata.namespace, name)) as ReplicaSet | undefined) : undefined;
      if (taken !== undefined) {
        if (controllerOf(taken)?.uid === metadata.uid && sameTemplate(taken.spec.template, spec.template)) return taken;
        look.collisionCount += 1;
      } else if (!isNamespaceEnding(error)) {
        const message = `Failed to create new replica set "${name}": ${(error as Error).message}`;
        if (hasDeadline(deployment)) look.conditions = withCondition(look.conditions, { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message }, Date.now());
        tell(deployment, 'Warning', 'ReplicaSetCreateError', message);
      }
      await objects.updateStatus(caches.deployments, deployment, countedStatus(deployment, look, look.conditions, look.collisionCount, Date.now()));
      throw error;
    }
  }

  /** `kubectl rollout history` and `undo` read the present revision of the deployment. */
  async function noteRevision({ deployment, newSet }: Look): Promise<Deployment> {
    const revision = newSet?.metadata.annotations?.[revisionAnnotation];
    if (revision === undefined || deployment.metadata.annotations?.[revisionAnnotation] === revision) return deployment;
    return objects.update(caches.deployments, { ...deployment, metadata: { ...deployment.metadata, annotations: { ...deployment.metadata.annotations, [revisionAnnotation]: revision } } });
  }

  /** The number that is wanted has changed, or the roll-out is paused: the sets keep their shares, nothing is rolled on. */
  async function scale(look: Look): Promise<void> {
    const { deployment, newSet, old } = look;
    const all = newSet === undefined ? old : [...old, newSet];
    const active = all.filter(({ spec }) => spec.replicas > 0);
    const limits = limitsOf(deployment);
    if (active.length <= 1) {
      const only = active[0] ?? newSet ?? [...old].sort((a, b) => oldestFirst(sizeOf(b), sizeOf(a)))[0];
      if (only !== undefined) await resize(look, only, limits.replicas);
      return;
    }
    const saturated = newSet !== undefined && newSet.spec.replicas === limits.replicas && wholeNumber(newSet.metadata.annotations?.[desiredAnnotation]) === limits.replicas && (newSet.status?.availableReplicas ?? 0) === limits.replicas;
    if (saturated) await resizeAll(look, active.filter((set) => set !== newSet).map(({ metadata }) => ({ name: metadata.name, replicas: 0 })));
    else if (deployment.spec.strategy.type === 'RollingUpdate') await resizeAll(look, proportionalSizes(limits, active.map(sizeOf), deployment.status?.replicas ?? 0));
  }

  /** One step: the new set grows as far as the surge allows, or else the old ones shrink as far as availability allows. */
  async function roll(look: Look): Promise<void> {
    const newSet = (look.newSet ??= await make(look));
    const limits = limitsOf(look.deployment);
    const size = newSetSize(limits, sizeOf(newSet), look.old.map(sizeOf));
    if (size !== newSet.spec.replicas) return resize(look, newSet, size);
    await resizeAll(look, shrinkOld(limits, sizeOf(newSet), look.old.map(sizeOf)));
  }

  /** All old pods end before the first new one is made. */
  async function recreate(look: Look): Promise<void> {
    const withPods = look.old.filter(({ spec }) => spec.replicas > 0);
    if (withPods.length > 0) return resizeAll(look, withPods.map(({ metadata }) => ({ name: metadata.name, replicas: 0 })));
    if (look.old.some(hasPods)) return undefined;
    const newSet = (look.newSet ??= await make(look));
    if (newSet.spec.replicas !== look.deployment.spec.replicas) await resize(look, newSet, look.deployment.spec.replicas);
  }

  /** Also of those that are ending: they may hold what the new ones need. */
  function hasPods({ metadata, status }: ReplicaSet): boolean {
    return (status?.replicas ?? 0) > 0 || caches.pods.byOwner(metadata.uid).some((pod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed');
  }

  async function cleanUp({ deployment, old }: Look): Promise<void> {
    for (const set of outdated(old, deployment.spec.revisionHistoryLimit)) await objects.delete(caches.replicaSets, set);
  }

  /** Whether the wanted number is another than when its sets were last sized. */
  const isRescaled = ({ deployment, newSet, old }: Look): boolean =>
    [newSet, ...old].some((set) => {
      const desired = set === undefined || set.spec.replicas === 0 ? undefined : wholeNumber(set.metadata.annotations?.[desiredAnnotation]);
      return desired !== undefined && desired !== deployment.spec.replicas;
    });

  async function reconcile(key: string): Promise<{ againAfterMs: number } | undefined> {
    const deployment = byKey(caches.deployments, key);
    if (deployment === undefined) return undefined;
    const { selector, template, paused, strategy } = deployment.spec;
    const sets = await claimed(deps, { owner: deployment, owners: caches.deployments, selector, cache: caches.replicaSets });
    const newSet = sets.filter((set) => sameTemplate(set.spec.template, template)).sort((a, b) => oldestFirst(sizeOf(a), sizeOf(b)))[0];
    const look: Look = { deployment, newSet, old: sets.filter((set) => set !== newSet), conditions: deployment.status?.conditions ?? [], collisionCount: deployment.status?.collisionCount ?? 0 };
    if (deployment.metadata.deletionTimestamp !== undefined) {
      await objects.updateStatus(caches.deployments, deployment, countedStatus(deployment, look, look.conditions, look.collisionCount, Date.now()));
      return undefined;
    }
    look.conditions = withPause(deployment, Date.now());
    if (newSet !== undefined) await follow(look, newSet);
    const rollsOut = paused !== true && !isRescaled(look);
    if (!rollsOut) {
      await scale(look);
      if (paused === true) await cleanUp(look);
    } else {
      await (strategy.type === 'Recreate' ? recreate(look) : roll(look));
      if (isComplete(deployment, deployment.status)) await cleanUp(look);
    }
    const noted = await noteRevision(look);
    const statusOf = rollsOut ? rolloutStatus : countedStatus;
    const status = statusOf(noted, look, look.conditions, look.collisionCount, Date.now());
    await objects.updateStatus(caches.deployments, noted, status);
    const overdueMs = overdueAtMs(noted, status);
    return overdueMs === undefined ? undefined : { againAfterMs: Math.max(1000, overdueMs - Date.now()) };
  }

  return {
    name: 'deployments',
    concurrency: 8,
    keys: keysOf(caches.deployments),
    wakes: [
      onOwnChange(caches.deployments),
      onChange(caches.replicaSets, ({ object, before }) => ownersConcerned(caches.deployments, object, before).map(objectKey)),
      // Recreate waits for the last old pod.
      onChange(caches.pods, ({ type, object, before }) => {
        if (type !== 'DELETED' && object.status?.phase === before?.status?.phase) return [];
        const set = caches.replicaSets.byUid(controllerOf(object)?.uid ?? '');
        const owner = set && caches.deployments.byUid(controllerOf(set)?.uid ?? '');
        return owner?.spec.strategy.type === 'Recreate' ? [objectKey(owner)] : [];
      }),
    ],
    reconcile,
  };
}
