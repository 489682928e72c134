import type { ScalingBehavior } from '@roundsman/api';
import { recommended, type History } from './history.ts';
import { highestAllowed, lowestAllowed } from './rate-limits.ts';

/** A reason and its message, as they stand in a condition. */
export interface Why {
  readonly reason: string;
  readonly message: string;
}

/** How many pods there are to be now, of those that metrics ask for. */
export interface Paced {
  readonly replicas: number;
  readonly ableToScale: Why;
  /** Whether a limit holds more or fewer back. */
  readonly limited: Why & { readonly holds: boolean };
  readonly history: History;
}

export interface Wish {
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly behavior: ScalingBehavior | undefined;
  /** How long recommendations hold back a decrease where the behaviour does not say. */
  readonly downscaleStabilizationMs: number;
}

const ready: Why = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const upStabilized: Why = { reason: 'ScaleUpStabilized', message: 'recent recommendations were lower than current one, applying the lowest recent recommendation' };
const downStabilized: Why = { reason: 'ScaleDownStabilized', message: 'recent recommendations were higher than current one, applying the highest recent recommendation' };
const withinRange: Why = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' };
const tooMany: Why = { reason: 'TooManyReplicas', message: 'the desired replica count is more than the maximum replica count' };
const tooFew: Why = { reason: 'TooFewReplicas', message: 'the desired replica count is less than the minimum replica count' };
const upLimit: Why = { reason: 'ScaleUpLimit', message: 'the desired replica count is increasing faster than the maximum scale rate' };
const downLimit: Why = { reason: 'ScaleDownLimit', message: 'the desired replica count is decreasing faster than the maximum scale rate' };

/** Holds what metrics ask for to the stabilisation windows, to the speed of the policies, and to the least and most. */
export const paced = (wish: Wish, history: History, nowMs: number): Paced => (wish.behavior === undefined ? byDefault(wish, history, nowMs) : byBehavior(wish, wish.behavior, history, nowMs));

interface Limit extends Why {
  readonly replicas: number;
}
const result = (desired: number, stabilized: number, held: Why, limit: Limit, history: History): Paced => {
  const { replicas, reason, message } = limit;
  return { replicas, ableToScale: stabilized === desired ? ready : held, limited: { holds: replicas !== stabilized, reason, message }, history };
};

/** Without a behaviour: the highest recommendation of the window counts, and there are at most twice as many pods, or four. */
function byDefault({ current, desired, min, max, downscaleStabilizationMs }: Wish, history: History, nowMs: number): Paced {
  const recent = history.recommendations.filter(({ atMs }) => atMs >= nowMs - downscaleStabilizationMs);
  const stabilized = Math.max(desired, ...recent.map(({ replicas }) => replicas));
  return result(desired, stabilized, downStabilized, defaultLimit(current, stabilized, min, max), recommended(history, desired, nowMs, downscaleStabilizationMs));
}

function defaultLimit(current: number, desired: number, min: number, max: number): Limit {
  const fastest = Math.max(2 * current, 4);
  if (desired < min) return { replicas: min, ...tooFew };
  if (max > fastest) return desired > fastest ? { replicas: fastest, ...upLimit } : { replicas: desired, ...withinRange };
  return desired > max ? { replicas: max, ...tooMany } : { replicas: desired, ...withinRange };
}

function byBehavior(wish: Wish, { scaleUp = {}, scaleDown = {} }: ScalingBehavior, history: History, nowMs: number): Paced {
  const { current, desired, min, max } = wish;
  const upMs = (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
  const downMs = scaleDown.stabilizationWindowSeconds === undefined ? wish.downscaleStabilizationMs : scaleDown.stabilizationWindowSeconds * 1000;
  const within = (windowMs: number): number[] => history.recommendations.filter(({ atMs }) => atMs > nowMs - windowMs).map(({ replicas }) => replicas);
  const lowest = Math.min(desired, ...within(upMs));
  const highest = Math.max(desired, ...within(downMs));
  const stabilized = Math.min(Math.max(current, lowest), highest);
  const limit = limitOf();
  return result(desired, stabilized, desired >= current ? upStabilized : downStabilized, limit, recommended(history, desired, nowMs, downMs));

  function limitOf(): Limit {
    if (stabilized > current) {
      const fastest = Math.max(current, highestAllowed(current, scaleUp, history, nowMs));
      const [most, why] = max > fastest ? [fastest, upLimit] : [max, tooMany];
      if (stabilized > most) return { replicas: most, ...why };
    } else if (stabilized < current) {
      const fastest = Math.min(current, lowestAllowed(current, scaleDown, history, nowMs));
      const [fewest, why] = min < fastest ? [fastest, downLimit] : [min, tooFew];
      if (stabilized < fewest) return { replicas: fewest, ...why };
    }
    return { replicas: stabilized, ...withinRange };
  }
}
