/**
 * Does something `count` times: once, then in batches that double while all of a batch succeed, so that what cannot work is not tried hundreds
 * of times. `call` gets the number of the call. Resolves with how many succeeded and the first error.
 */
export async function slowStart(count: number, call: (index: number) => Promise<unknown>): Promise<{ succeeded: number; error?: unknown }> {
  let succeeded = 0;
  for (let batch = 1; succeeded < count; batch *= 2) {
    const size = Math.min(batch, count - succeeded);
    const begun = succeeded;
    const outcomes = await Promise.allSettled(Array.from({ length: size }, async (_, index) => call(begun + index)));
    succeeded += outcomes.filter(({ status }) => status === 'fulfilled').length;
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) return { succeeded, error: failed.reason };
  }
  return { succeeded };
}
