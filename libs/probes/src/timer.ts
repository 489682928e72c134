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
