import type { Endpoint } from './endpoint.ts';

/** The endpoints of one Service port, each request to the least busy one; equally busy ones take turns. */
export class Choice {
  readonly endpoints: readonly Endpoint[];
  #turn = 0;

  constructor(endpoints: readonly Endpoint[]) {
    this.endpoints = endpoints;
  }

  /** Undefined when all have been tried. One that could not be reached lately comes last. */
  next(tried: ReadonlySet<Endpoint>): Endpoint | undefined {
    const { endpoints } = this;
    const start = this.#turn++;
    let best: Endpoint | undefined;
    let bestCost = Infinity;
    for (let step = 0; step < endpoints.length; step += 1) {
      const endpoint = endpoints[(start + step) % endpoints.length]!;
      if (tried.has(endpoint)) continue;
      const cost = endpoint.busy + (endpoint.avoided ? 1e9 : 0);
      if (cost >= bestCost) continue;
      best = endpoint;
      bestCost = cost;
    }
    return best;
  }
}
