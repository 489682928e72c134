import type { Deployment, DeploymentStatus, ReplicaSet, ReplicaSetStatus } from '@roundsman/api';
import { conditionOf, withCondition, without, type Conditions } from './conditions.ts';
import { limitsOf } from './limits.ts';

/** What a deployment is made of at the moment. */
export interface Sets {
  /** For the present template; undefined when there is none yet. */
  readonly newSet: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

/** Nothing counts as stuck. */
const noDeadline = 2 ** 31 - 1;
export const hasDeadline = ({ spec }: Deployment): boolean => spec.progressDeadlineSeconds !== noDeadline;

const sum = (sets: readonly ReplicaSet[], of: (status: ReplicaSetStatus) => number | undefined): number => sets.reduce((total, { status }) => total + ((status && of(status)) ?? 0), 0);

/** Counts and availability; the conditions are those given, besides. `collisionCount`: how often the name of a set was taken. */
export function countedStatus(deployment: Deployment, { newSet, old }: Sets, conditions: Conditions, collisionCount: number, nowMs: number): DeploymentStatus {
  const all = newSet === undefined ? old : [...old, newSet];
  const availableReplicas = sum(all, (status) => status.availableReplicas);
  const { replicas, maxUnavailable } = limitsOf(deployment);
  const isAvailable = availableReplicas >= replicas - maxUnavailable;
  const available = isAvailable
    ? ({ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' } as const)
    : ({ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' } as const);
  return {
    observedGeneration: deployment.metadata.generation,
    replicas: sum(all, (status) => status.replicas),
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum(all, (status) => status.readyReplicas),
    availableReplicas,
    unavailableReplicas: Math.max(0, all.reduce((total, { spec }) => total + spec.replicas, 0) - availableReplicas),
    conditions: [...withCondition(conditions, available, nowMs)],
    ...(collisionCount === 0 ? {} : { collisionCount }),
  };
}

/** All wanted pods are of the present template and available, and no others are there. */
export function isComplete({ spec, metadata }: Deployment, status: DeploymentStatus | undefined): boolean {
  const { replicas } = spec;
  // Counters of nothing are not stored.
  const counts = [status?.updatedReplicas, status?.replicas, status?.availableReplicas];
  return status !== undefined && counts.every((count = 0) => count === replicas) && (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** The status during a roll-out: how it goes on, whether it is stuck, why pods cannot be made. */
export function rolloutStatus(deployment: Deployment, sets: Sets, conditions: Conditions, collisionCount: number, nowMs: number): DeploymentStatus {
  const status = countedStatus(deployment, sets, conditions, collisionCount, nowMs);
  const progressed = withFailure(withProgress(deployment, sets, status, nowMs), sets);
  return { ...status, conditions: [...progressed] };
}

function withProgress(deployment: Deployment, { newSet }: Sets, status: DeploymentStatus, nowMs: number): Conditions {
  const conditions = status.conditions ?? [];
  if (!hasDeadline(deployment)) return without(conditions, 'Progressing');
  const current = conditionOf(conditions, 'Progressing');
  // Done before: pods that fall over later are no roll-out.
  if (status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable') return conditions;
  const what = newSet === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${newSet.metadata.name}"`;
  const type = 'Progressing';
  if (isComplete(deployment, status)) return withCondition(conditions, { type, status: 'True', reason: 'NewReplicaSetAvailable', message: `${what} has successfully progressed.` }, nowMs);
  if (hasMoved(deployment.status, status)) return withCondition(conditions, { type, status: 'True', reason: 'ReplicaSetUpdated', message: `${what} is progressing.` }, nowMs, true);
  if (isOverdue(deployment, conditions, nowMs)) return withCondition(conditions, { type, status: 'False', reason: 'ProgressDeadlineExceeded', message: `${what} has timed out progressing.` }, nowMs);
  return conditions;
}

/** More pods of the present template, fewer others, or more that are ready or available. */
function hasMoved(before: DeploymentStatus | undefined, now: DeploymentStatus): boolean {
  const of = (status: DeploymentStatus | undefined): { updated: number; others: number; ready: number; available: number } => {
    const updated = status?.updatedReplicas ?? 0;
    return { updated, others: (status?.replicas ?? 0) - updated, ready: status?.readyReplicas ?? 0, available: status?.availableReplicas ?? 0 };
  };
  const [a, b] = [of(before), of(now)];
  return b.updated > a.updated || b.others < a.others || b.ready > a.ready || b.available > a.available;
}

function isOverdue({ spec }: Deployment, conditions: Conditions, nowMs: number): boolean {
  const current = conditionOf(conditions, 'Progressing');
  if (current === undefined || current.reason === 'NewReplicaSetAvailable') return false;
  return current.reason === 'ProgressDeadlineExceeded' || Date.parse(current.lastUpdateTime ?? '') + spec.progressDeadlineSeconds * 1000 < nowMs;
}

/** When it may have become overdue; undefined when it cannot. Milliseconds since the epoch. */
export function overdueAtMs(deployment: Deployment, status: DeploymentStatus): number | undefined {
  const current = conditionOf(status.conditions ?? [], 'Progressing');
  if (!hasDeadline(deployment) || current === undefined || current.reason === 'ProgressDeadlineExceeded' || isComplete(deployment, status)) return undefined;
  // Times are whole seconds: a second later it is certain.
  return Date.parse(current.lastUpdateTime ?? '') + (deployment.spec.progressDeadlineSeconds + 1) * 1000;
}

/** What keeps a set from its pods is told of the deployment, that of the new set first. */
function withFailure(conditions: Conditions, { newSet, old }: Sets): Conditions {
  for (const set of newSet === undefined ? old : [newSet, ...old]) {
    const failure = set.status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
    if (failure === undefined) continue;
    const before = conditionOf(conditions, 'ReplicaFailure');
    if (before !== undefined && before.status === failure.status && before.reason === failure.reason) return conditions;
    const { type, status, reason, message, lastTransitionTime } = failure;
    return [...without(conditions, 'ReplicaFailure'), { type, status, reason, message, lastTransitionTime, lastUpdateTime: lastTransitionTime }];
  }
  return without(conditions, 'ReplicaFailure');
}

/** A paused roll-out does not become overdue, and a resumed one starts counting anew. */
export function withPause(deployment: Deployment, nowMs: number): Conditions {
  const conditions = deployment.status?.conditions ?? [];
  const current = conditionOf(conditions, 'Progressing');
  if (!hasDeadline(deployment) || current?.reason === 'ProgressDeadlineExceeded') return conditions;
  const type = 'Progressing';
  if (deployment.spec.paused === true) return withCondition(conditions, { type, status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }, nowMs);
  if (current?.reason === 'DeploymentPaused') return withCondition(conditions, { type, status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' }, nowMs);
  return conditions;
}
