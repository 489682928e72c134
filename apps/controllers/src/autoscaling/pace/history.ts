/** What was recommended and done, newest last. Kept in memory: whoever begins to lead begins with the present number as the only recommendation. */
export interface History {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}
/** How many pods metrics asked for, before any limit. */
export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}
export interface ScaleEvent {
  /** How many pods came or went. */
  readonly change: number;
  readonly atMs: number;
}

/** The longest that behaviours may look back: stabilisation windows and periods of policies. */
const longestWindowMs = 3_600_000;
const longestPeriodMs = 1_800_000;

/** The present number counts as recommended: nobody has asked for fewer yet. */
export const firstHistory = (replicas: number, atMs: number): History => ({ recommendations: [{ replicas, atMs }], ups: [], downs: [] });

export const recommended = (history: History, replicas: number, nowMs: number, windowMs = 0): History => ({
  ...history,
  recommendations: [...history.recommendations.filter(({ atMs }) => atMs >= nowMs - Math.max(windowMs, longestWindowMs)), { replicas, atMs: nowMs }],
});

/** The number of pods was changed. */
export function scaled(history: History, before: number, after: number, nowMs: number): History {
  const key = after > before ? 'ups' : 'downs';
  return { ...history, [key]: [...history[key].filter(({ atMs }) => atMs >= nowMs - longestPeriodMs), { change: Math.abs(after - before), atMs: nowMs }] };
}

/** Pods that came or went in the last so many milliseconds. */
export const changeWithin = (events: readonly ScaleEvent[], periodMs: number, nowMs: number): number => events.reduce((sum, { change, atMs }) => (atMs > nowMs - periodMs ? sum + change : sum), 0);
