import type { ReplicaSet } from '@roundsman/api';
import type { Limits } from './limits.ts';

/** A replica set as far as it matters for how large it is to be. */
export interface SetSize {
  readonly name: string;
  /** Wanted. */
  readonly replicas: number;
  /** There are, as last told. */
  readonly actual: number;
  /** Available, as last told. */
  readonly available: number;
  /** What was last told is of the size that is wanted now. */
  readonly observed: boolean;
  readonly createdMs: number;
  /** Most pods its deployment could have when it was last sized; 0 when unknown. */
  readonly maxReplicas: number;
}
/** How large a set is to become. */
export interface Resize {
  readonly name: string;
  readonly replicas: number;
}

export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
export const maxAnnotation = 'deployment.kubernetes.io/max-replicas';

export function sizeOf({ metadata, spec, status }: ReplicaSet): SetSize {
  return {
    name: metadata.name,
    replicas: spec.replicas,
    actual: status?.replicas ?? 0,
    available: status?.availableReplicas ?? 0,
    observed: (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    createdMs: Date.parse(metadata.creationTimestamp),
    maxReplicas: wholeNumber(metadata.annotations?.[maxAnnotation]) ?? 0,
  };
}

export const wholeNumber = (text: string | undefined): number | undefined => (text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined);

const sum = (sets: readonly SetSize[], of: (set: SetSize) => number): number => sets.reduce((total, set) => total + of(set), 0);
export const oldestFirst = (a: SetSize, b: SetSize): number => a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1);
/** A set that was told to shrink still shows those that are about to end. */
const countsOn = ({ replicas, available }: SetSize): number => Math.min(replicas, available);
/** Those that were told to end are still there until they do. */
const occupies = ({ replicas, actual }: SetSize): number => Math.max(replicas, actual);

/**
 * How large the new set may be now: all that the surge leaves room for. It is never made smaller than it is, unless fewer are wanted. While a set was not
 * looked at since it was sized, what it made for an earlier size may be untold: nobody knows what room there is.
 */
export function newSetSize({ replicas, maxSurge }: Limits, newSet: SetSize, old: readonly SetSize[]): number {
  if (newSet.replicas >= replicas) return replicas;
  if (![...old, newSet].every(({ observed }) => observed)) return newSet.replicas;
  const room = replicas + maxSurge - sum([...old, newSet], occupies);
  return newSet.replicas + Math.max(0, Math.min(room, replicas - newSet.replicas));
}

/**
 * Which old sets shrink now, so that at least `replicas - maxUnavailable` pods stay available: first by their pods that are not
 * available, then by as many as the new set's available pods make up for. Oldest sets first.
 */
export function shrinkOld({ replicas, maxUnavailable }: Limits, newSet: SetSize, old: readonly SetSize[]): Resize[] {
  const minAvailable = replicas - maxUnavailable;
  const sizes = new Map(old.map(({ name, replicas: size }) => [name, size]));
  const newUnavailable = newSet.replicas - countsOn(newSet);
  let spare = sum([...old, newSet], (set) => set.replicas) - minAvailable - newUnavailable;
  const shrink = (name: string, by: number): void => {
    sizes.set(name, sizes.get(name)! - by);
    spare -= by;
  };
  const inOrder = [...old].sort(oldestFirst);
  for (const set of inOrder) shrink(set.name, Math.max(0, Math.min(spare, set.replicas - countsOn(set))));
  let surplus = sum([...old, newSet], countsOn) - minAvailable;
  for (const { name } of inOrder) {
    const by = Math.max(0, Math.min(surplus, spare, sizes.get(name)!));
    shrink(name, by);
    surplus -= by;
  }
  return old.flatMap(({ name, replicas: size }) => (sizes.get(name) === size ? [] : [{ name, replicas: sizes.get(name)! }]));
}

/** Scaled while a roll-out is under way or paused: all sets with pods keep their share. `statusReplicas`: pods of the deployment as last told. */
export function proportionalSizes({ replicas, maxSurge }: Limits, sets: readonly SetSize[], statusReplicas: number): Resize[] {
  const active = sets.filter((set) => set.replicas > 0);
  const allowed = replicas > 0 ? replicas + maxSurge : 0;
  const toAdd = allowed - sum(active, (set) => set.replicas);
  // Of sets of one size the newer grow first and the older shrink first.
  const largestFirst = [...active].sort((a, b) => b.replicas - a.replicas || (toAdd > 0 ? oldestFirst(b, a) : oldestFirst(a, b)));
  let left = toAdd;
  const give = (wanted: number): number => {
    const by = toAdd > 0 ? Math.min(Math.max(0, wanted), left) : Math.max(Math.min(0, wanted), left);
    left -= by;
    return by;
  };
  const shared = largestFirst.map((set) => ({ name: set.name, replicas: set.replicas + give(shareOf(set, replicas, replicas + maxSurge, statusReplicas)) }));
  // What rounding left over is the largest one's; it cannot give more than it has.
  return shared.map((set) => ({ ...set, replicas: set.replicas + give(toAdd > 0 ? left : -set.replicas) }));
}

/** By how many a set would grow or shrink to keep its share of the most pods there may be. */
function shareOf({ replicas: size, maxReplicas }: SetSize, replicas: number, maxNow: number, statusReplicas: number): number {
  if (replicas === 0) return -size;
  const maxBefore = maxReplicas === 0 ? statusReplicas : maxReplicas;
  return maxBefore === 0 ? 0 : Math.round((size * maxNow) / maxBefore) - size;
}
