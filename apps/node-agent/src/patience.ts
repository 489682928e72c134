/** A wait is counted in parts of this, milliseconds: whatever a part takes longer, this process stood still. */
const partMs = 100;

/**
 * Calls `over` when an answer was waited for so long, milliseconds; what it gives back ends the wait. Time in which this process stood still and could have read
 * no answer does not count, and what has come by then is read first: a busy agent must not accuse a container or a name server.
 */
export function patience(ms: number, over: () => void): () => void {
  let left = ms;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;
  const wait = (): void => {
    const part = Math.min(partMs, left);
    timer = setTimeout(() => {
      left -= part;
      if (left > 0) wait();
      else last = setImmediate(over);
    }, part);
  };
  wait();
  return () => {
    clearTimeout(timer);
    clearImmediate(last);
  };
}
