/** One thing that must hold for a service to be ready. */
export interface Check {
  /** `intake/database`, `gateway/feed`. */
  readonly name: string;
  /** Undefined when fine; otherwise what is wrong, in words. */
  readonly problem: () => string | undefined;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly checks: { name: string; problem?: string }[];
}

/** The checks of all services in a process; `/readyz` answers from it. */
export class Health {
  readonly #checks: Map<string, Check>;
  readonly #prefix: string;

  constructor(parent?: Health, prefix = '') {
    this.#checks = parent ? parent.#checks : new Map<string, Check>();
    this.#prefix = prefix;
  }

  /** The same checks, but names added here get a prefix: for a service that runs several times in one process. */
  scoped(prefix: string): Health {
    return new Health(this, `${this.#prefix}${prefix}/`);
  }

  add(check: Check): void {
    const name = this.#prefix + check.name;
    if (this.#checks.has(name)) throw new Error(`two health checks are called ${name}`);
    this.#checks.set(name, { name, problem: check.problem });
  }

  remove(name: string): void {
    this.#checks.delete(this.#prefix + name);
  }

  /** Every check by name with its problem, if it has one; `under` keeps those of one service (`intake`). */
  report(under?: string): HealthReport {
    const checks = [...this.#checks.values()]
      .filter(({ name }) => under === undefined || name.startsWith(`${under}/`))
      .map(({ name, problem }) => {
        const wrong = problem();
        return wrong === undefined ? { name } : { name, problem: wrong };
      });
    return { ready: checks.every((check) => check.problem === undefined), checks };
  }
}
