/** The longest time a timer takes, milliseconds (24.8 days): a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Calls `call` once after `ms`, however long that is. Returns what calls it off. */
export function after(ms: number, call: () => void): () => void {
  const at = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = at - performance.now();
    timer = left > longestTimerMs ? setTimeout(wait, longestTimerMs) : setTimeout(call, Math.max(0, left));
  };
  wait();
  return () => clearTimeout(timer);
}

/** How often the event loop shows that it turns, milliseconds. */
const beatMs = 10;

/**
 * Calls `call` once the event loop has turned for `ms`, and what has arrived was read: time for which it stood still hardly counts.
 * Returns what calls it off.
 */
export function afterTurning(ms: number, call: () => void): () => void {
  let left = ms;
  let last = performance.now();
  let timer: NodeJS.Timeout;
  let check: NodeJS.Immediate | undefined;
  const wait = (): void => void (timer = setTimeout(beat, Math.min(beatMs, left)));
  const beat = (): void => {
    const now = performance.now();
    left -= Math.min(now - last, 2 * beatMs);
    last = now;
    if (left > 0) wait();
    else check = setImmediate(call);
  };
  wait();
  return () => {
    clearTimeout(timer);
    clearImmediate(check);
  };
}
