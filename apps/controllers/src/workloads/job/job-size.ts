import type { Job, Pod } from '@roundsman/api';
import { inDeletionOrder } from '../deletion-order.ts';
import { backOffLeftMs, jobBackOffLeftMs } from './back-off.ts';
import { rulingOn } from './failure-policy.ts';
import { firstMissing, hasIndex, union, withIndexes } from './index-set.ts';
import { endedAtMs, failuresBefore, hasFailed, indexOf, isIndexed, isTracked, replacesOnlyFailed } from './job-pods.ts';
import { indexesOf, type Tally } from './job-tally.ts';

/** A pod to be made. */
export interface Opening {
  /** Counts the pods of the job (of the index) before it: names follow from it, so that whoever makes it twice makes one. */
  readonly ordinal: number;
  /** Only of indexed jobs. */
  readonly index?: number;
  /** Of its index before it; only with a back-off limit per index. */
  readonly failures?: { readonly counted: number; readonly ignored: number };
}

/** Pods to be made or removed now: one or the other, or neither. */
export interface SizePlan {
  readonly open: readonly Opening[];
  readonly remove: readonly Pod[];
  /** A back-off ends then. */
  readonly waitMs?: number;
}

/** Pods opened or removed in one look. */
const burst = 500;
const nothing: SizePlan = { open: [], remove: [] };

/** How many pods a job that goes on has too many or too few. */
export function sizePlan(job: Job, pods: readonly Pod[], tally: Tally, nowMs: number): SizePlan {
  const { spec } = job;
  const { active } = tally;
  if (job.metadata.deletionTimestamp !== undefined) return nothing;
  if (spec.suspend === true) return { ...nothing, remove: active.slice(0, burst) };

  // Without completions no new pods are made after the first success.
  const wanted = spec.completions === undefined ? (tally.succeeded > 0 ? active.length : spec.parallelism) : Math.max(0, Math.min(spec.parallelism, spec.completions - tally.succeeded));
  const surplus = surplusOf(job, active, active.length - wanted, nowMs);
  if (surplus.length > 0) return { ...nothing, remove: surplus.slice(0, burst) };

  const ending = replacesOnlyFailed(job) ? tally.terminating.length : 0;
  const missing = Math.min(burst, wanted - active.length - ending);
  if (missing <= 0) return nothing;
  if (spec.backoffLimitPerIndex !== undefined) return retriedIndexes(job, pods, tally, missing, nowMs);
  const waitMs = jobBackOffLeftMs(job, pods, nowMs);
  if (waitMs > 0) return { ...nothing, waitMs };
  if (isIndexed(job)) return { ...nothing, open: firstMissing(closedIndexes(job, tally), missing, spec.completions ?? 0).map((index) => ({ index, ordinal: podsOfIndex(job, pods, index) })) };
  const before = tally.succeeded + tally.failed + active.length + ending;
  return { ...nothing, open: Array.from({ length: missing }, (_, i) => ({ ordinal: before + i })) };
}

/** At least so many, and every pod of an indexed job that has no index of its own: none, an invalid one, one that another works on. */
function surplusOf(job: Job, active: readonly Pod[], atLeast: number, nowMs: number): Pod[] {
  const ordered = inDeletionOrder(active, nowMs);
  if (!isIndexed(job)) return ordered.slice(0, Math.max(0, atLeast));
  const taken = new Set<number>();
  // From the end: the one that would be deleted last keeps the index.
  const misplaced = ordered.toReversed().filter((pod) => {
    const index = indexOf(pod, job);
    if (index === undefined || taken.has(index)) return true;
    taken.add(index);
    return false;
  });
  return [...misplaced, ...ordered.filter((pod) => !misplaced.includes(pod))].slice(0, Math.max(atLeast, misplaced.length, 0));
}

/** Indexes that no pod is to be made for: done, given up, or worked on. */
const closedIndexes = (job: Job, tally: Tally) =>
  withIndexes(union(tally.completedIndexes, tally.failedIndexes ?? []), [...indexesOf(job, tally.active), ...(replacesOnlyFailed(job) ? indexesOf(job, tally.terminating) : [])]);

const podsOfIndex = (job: Job, pods: readonly Pod[], index: number): number => pods.filter((pod) => indexOf(pod, job) === index).length;

/** Every index backs off by itself; those that wait hold up no others. */
function retriedIndexes(job: Job, pods: readonly Pod[], tally: Tally, missing: number, nowMs: number): SizePlan {
  const last = lastFailures(job, pods, tally);
  const waits = new Map<number, number>();
  for (const [index, pod] of last) {
    const { counted, ignored } = failuresBefore(pod);
    const waitMs = backOffLeftMs(counted + ignored + 1, endedAtMs(pod), nowMs);
    if (waitMs > 0) waits.set(index, waitMs);
  }
  const open = firstMissing(withIndexes(closedIndexes(job, tally), waits.keys()), missing, job.spec.completions ?? 0);
  return {
    open: open.map((index) => ({ index, ordinal: podsOfIndex(job, pods, index), failures: failuresAfter(job, last.get(index)) })),
    remove: [],
    ...(waits.size === 0 ? {} : { waitMs: Math.min(...waits.values()) }),
  };
}

/** With a back-off limit per index: of every index that is to be tried again its last failed pod. It is held until another pod carries on its count. */
export function lastFailures(job: Job, pods: readonly Pod[], tally: Tally): Map<number, Pod> {
  const last = new Map<number, Pod>();
  if (job.spec.backoffLimitPerIndex === undefined) return last;
  const running = new Set(indexesOf(job, tally.active));
  const tries = (pod: Pod): number => failuresBefore(pod).counted + failuresBefore(pod).ignored;
  for (const pod of pods) {
    const index = indexOf(pod, job);
    if (index === undefined || !isTracked(pod) || !hasFailed(pod, job) || running.has(index)) continue;
    if (hasIndex(tally.completedIndexes, index) || hasIndex(tally.failedIndexes ?? [], index)) continue;
    const known = last.get(index);
    if (known === undefined || tries(pod) >= tries(known)) last.set(index, pod);
  }
  return last;
}

function failuresAfter(job: Job, pod: Pod | undefined): { counted: number; ignored: number } {
  if (pod === undefined) return { counted: 0, ignored: 0 };
  const { counted, ignored } = failuresBefore(pod);
  return rulingOn(job.spec.podFailurePolicy, pod).counts ? { counted: counted + 1, ignored } : { counted, ignored: ignored + 1 };
}
