/** The kubelet's waits between restarts of one container, milliseconds: none, then 10 s, doubled to 300 s; a run of more than 10 minutes starts over. */
const initialMs = 10_000;
const longestMs = 300_000;
const forgivenAfterMs = 600_000;

/** What is known of a run that has ended. `backOffMs` is the wait after it, kept with its container; epoch milliseconds. */
export interface EndedRun {
  readonly backOffMs: number;
  readonly createdAt: number;
  readonly finishedAt: number;
}

const forgiven = (run: EndedRun): boolean => run.finishedAt - run.createdAt > forgivenAfterMs;

/** When the next run may start: epoch milliseconds, perhaps past. */
export const restartAt = (run: EndedRun): number => (forgiven(run) ? run.finishedAt : run.finishedAt + run.backOffMs);

/** The wait after the next run, to be kept with its container. */
export function nextBackOff(previous: EndedRun | undefined): number {
  if (previous === undefined) return 0;
  return previous.backOffMs === 0 || forgiven(previous) ? initialMs : Math.min(previous.backOffMs * 2, longestMs);
}

/** Waits between tries of something that fails over and over (pulls), per key: 10 s doubled to 300 s. */
export const retryDelay = (failures: number): number => Math.min(initialMs * 2 ** Math.min(failures - 1, 10), longestMs);
