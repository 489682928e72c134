/** One thing that must hold for a service to be ready. */
export interface Check {
  /** `intake/database`, `gateway/feed`. */
  readonly name: string;
  /** Undefined when fine; otherwise what is wrong, in words. */
  readonly problem: () => string | undefined;
}

/** The checks of all services in a process; `/readyz` answers from it. */
export class Health {
  readonly #checks = new Map<string, Check>();

  add(check: Check): void {
    if (this.#checks.has(check.name)) throw new Error(`two health checks are called ${check.name}`);
    this.#checks.set(check.name, check);
  }

  remove(name: string): void {
    this.#checks.delete(name);
  }

  /** Every check by name with its problem, if it has one. */
  report(): { ready: boolean; checks: { name: string; problem?: string }[] } {
    const checks = [...this.#checks.values()].map(({ name, problem }) => {
      const wrong = problem();
      return wrong === undefined ? { name } : { name, problem: wrong };
    });
    return { ready: checks.every((check) => check.problem === undefined), checks };
  }
}
