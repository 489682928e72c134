import { isPodAvailable, isPodEnded, isPodReady, isPodTerminating, resolveIntOrString, type Pod, type StatefulSet, type StatefulSetStatus } from '@roundsman/api';
import { ordinalOf, revisionLabel } from './ordinal-pod.ts';

/** A stateful set and its pods at one moment. Revisions are names of ControllerRevisions. */
export interface OrdinalView {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** Of the pods that are not to be updated (yet). */
  readonly currentRevision: string;
  /** Of the present template. */
  readonly updateRevision: string;
  readonly nowMs: number;
}

export interface OrdinalPlan {
  readonly open: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly remove: readonly Pod[];
}

const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod);
const isHealthy = (pod: Pod): boolean => isRunning(pod) && !isPodTerminating(pod);
const revisionOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[revisionLabel];

const firstOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;
/** Whether the set is to have a pod of this ordinal. */
export const isWanted = (set: StatefulSet, ordinal: number): boolean => ordinal >= firstOrdinal(set) && ordinal < firstOrdinal(set) + set.spec.replicas;

/** The next step: missing pods first, then those that are too many, then those of an old template. In order one by one, unless they are managed in parallel. */
export function planOrdinals(view: OrdinalView): OrdinalPlan {
  const { set, pods, nowMs } = view;
  const inOrder = set.spec.podManagementPolicy === 'OrderedReady';
  const isAvailable = (pod: Pod): boolean => isRunning(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  const { wanted, condemned } = arranged(set, pods);

  const open: { ordinal: number; revision: string }[] = [];
  const remove: Pod[] = [];
  for (const { ordinal, pod } of wanted) {
    const waits = pod === undefined || isPodEnded(pod) || isPodTerminating(pod) || !isAvailable(pod);
    if (pod === undefined) open.push({ ordinal, revision: revisionFor(view, ordinal) });
    else if (isPodEnded(pod) && !isPodTerminating(pod)) remove.push(pod);
    if (inOrder && waits) return { open, remove };
  }
  if (open.length > 0 || remove.length > 0) return { open, remove };

  const firstUnhealthy = [...wanted.flatMap(({ pod }) => pod ?? []), ...condemned.toReversed()].find((pod) => !isHealthy(pod));
  for (const pod of condemned) {
    // One at a time from the last, and none while another is not well: which may be that one itself.
    if (inOrder && (isPodTerminating(pod) || (!isAvailable(pod) && pod !== firstUnhealthy))) return { open, remove };
    if (!isPodTerminating(pod)) remove.push(pod);
    if (inOrder) return { open, remove };
  }
  if (remove.length > 0 || set.spec.updateStrategy.type !== 'RollingUpdate') return { open, remove };
  return { open, remove: outdatedPods(view, wanted.flatMap(({ pod }) => pod ?? [])) };
}

/** Pods by ordinal; `condemned` are beyond those that are wanted, the last first. */
function arranged(set: StatefulSet, pods: readonly Pod[]): { wanted: { ordinal: number; pod: Pod | undefined }[]; condemned: Pod[] } {
  const start = firstOrdinal(set);
  const end = start + set.spec.replicas;
  const byOrdinal = new Map(pods.flatMap((pod): [number, Pod][] => {
    const ordinal = ordinalOf(set, pod);
    return ordinal === undefined ? [] : [[ordinal, pod]];
  }));
  return {
    wanted: Array.from({ length: set.spec.replicas }, (_, i) => ({ ordinal: start + i, pod: byOrdinal.get(start + i) })),
    condemned: [...byOrdinal].filter(([ordinal]) => ordinal < start || ordinal >= end).sort(([a], [b]) => b - a).map(([, pod]) => pod),
  };
}

/** Below the partition pods are made anew as they were. */
function revisionFor({ set, currentRevision, updateRevision }: OrdinalView, ordinal: number): string {
  const { type, rollingUpdate } = set.spec.updateStrategy;
  const held = type === 'RollingUpdate' ? (rollingUpdate?.partition ?? 0) : 0;
  return ordinal < firstOrdinal(set) + held ? currentRevision : updateRevision;
}

/** From the last down to the partition, as many at a time as may be unavailable; each must be well before the next. */
function outdatedPods({ set, updateRevision }: OrdinalView, pods: readonly Pod[]): Pod[] {
  const { partition = 0, maxUnavailable = 1 } = set.spec.updateStrategy.rollingUpdate ?? {};
  const allowed = Math.max(1, resolveIntOrString(maxUnavailable, set.spec.replicas, false));
  const remove: Pod[] = [];
  let unhealthy = 0;
  for (const pod of pods.slice(Math.max(0, partition)).toReversed()) {
    if (remove.length + unhealthy >= allowed) break;
    if (revisionOf(pod) !== updateRevision && !isPodTerminating(pod)) remove.push(pod);
    else if (!isHealthy(pod)) unhealthy += 1;
  }
  return remove;
}

export function ordinalStatus({ set, pods, currentRevision, updateRevision, nowMs }: OrdinalView, collisionCount: number): StatefulSetStatus {
  const running = pods.filter(isRunning);
  const staying = pods.filter((pod) => !isPodTerminating(pod));
  const of = (revision: string): number => staying.filter((pod) => revisionOf(pod) === revision).length;
  const { replicas } = set.spec;
  const updatedReplicas = of(updateRevision);
  const done = set.spec.updateStrategy.type === 'RollingUpdate' && updatedReplicas === replicas && running.length === replicas && pods.length === replicas;
  const currentReplicas = done ? updatedReplicas : of(currentRevision);
  return {
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    ...(running.length === 0 ? {} : { readyReplicas: running.length }),
    ...(currentReplicas === 0 ? {} : { currentReplicas }),
    ...(updatedReplicas === 0 ? {} : { updatedReplicas }),
    availableReplicas: running.filter((pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)).length,
    currentRevision: done ? updateRevision : currentRevision,
    updateRevision,
    collisionCount,
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
