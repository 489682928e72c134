/**
 * Asks again until the check neither throws nor answers false; then resolves with its answer. After `within` milliseconds
 * (default 20,000: it ends what is broken, and no machine is that slow) it throws what was wrong the last time. So both
 * `() => expect(x).toBe(1)` and `() => find() ?? false` do.
 */
export async function eventually<T>(check: () => T | Promise<T>, options: { within?: number; every?: number } = {}): Promise<Exclude<T, false>> {
  const { within = 20_000, every = 20 } = options;
  const deadline = performance.now() + within;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer !== false) return answer as Exclude<T, false>;
      last = new Error(`still false: ${String(check)}`);
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadline) {
      const why = last instanceof Error ? last.message : String(last);
      throw new Error(`not within ${within} ms: ${why}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}
