/** Requests of a round, a runner or a target. */
interface Requests {
  readonly planned: number;
  readonly sent: number;
  readonly succeeded: number;
  /** By error code. */
  readonly errors: { readonly canceled?: number | undefined } | null | undefined;
}

/**
 * Successes divided by planned requests, 0 to 1. In a canceled round by those that were sent and not called back: what it was not given the time for did not
 * fail. 0 where that is none. The views in `migrations/cuts.ts` say the same.
 */
export function successRate({ planned, sent, succeeded, errors }: Requests, canceled: boolean): number {
  const tried = canceled ? sent - (errors?.canceled ?? 0) : planned;
  return tried > 0 ? succeeded / tried : 0;
}
