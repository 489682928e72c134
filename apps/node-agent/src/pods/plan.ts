import type { Container, PodSpec } from '@roundsman/api';
import type { Run } from '../containers/run.ts';
import { specHash } from '../containers/spec-hash.ts';
import { nextBackOff, restartAt } from './back-off.ts';
import { isSidecar, restartPolicyOf, restarts, retriesInit, type RestartPolicy } from './restart-policy.ts';

/** All that the next steps of a pod follow from. */
export interface PodView {
  readonly spec: PodSpec;
  /** Nothing of it is to run any more: deleted, past its deadline, refused, lost. */
  readonly ending: boolean;
  /** `run` names this start of it. */
  readonly sandbox: { readonly running: boolean; readonly run: string } | undefined;
  /** The newest run of each container that has one. */
  readonly runs: ReadonlyMap<string, Run>;
  /** Containers that something is being done with. */
  readonly busy: ReadonlySet<string>;
  /** The sandbox is being made. */
  readonly sandboxBusy: boolean;
  /** Running containers that are up: postStart and startup probe are through. */
  readonly started: ReadonlySet<string>;
  /** Running containers that a probe gave up. */
  readonly unhealthy: ReadonlyMap<string, 'liveness' | 'startup'>;
  /** Containers that are not tried again before (epoch milliseconds), after something that failed outside of them. */
  readonly retryAt: ReadonlyMap<string, number>;
  readonly sandboxRetryAt: number;
}

export type StopCause = 'ending' | 'finished' | 'sandbox' | 'changed' | 'liveness' | 'startup';

export type Step =
  /** `anew`: there was one before. */
  | { readonly do: 'sandbox'; readonly anew: boolean }
  | { readonly do: 'start'; readonly container: Container; readonly attempt: number; readonly backOffMs: number }
  | { readonly do: 'stop'; readonly run: Run; readonly cause: StopCause; readonly restart: boolean }
  /** A container that was made and never started. */
  | { readonly do: 'discard'; readonly run: Run };

export interface Plan {
  readonly steps: readonly Step[];
  /** Containers that wait for their next run, and for how long altogether. */
  readonly backingOff: ReadonlyMap<string, { readonly until: number; readonly delayMs: number }>;
  /** Look again then, if nothing happens before. */
  readonly wakeAt: number | undefined;
  /** Nothing runs and nothing will. */
  readonly over: boolean;
}

/** What to do next with a pod; `now` in epoch milliseconds. Doing it and asking again ends with no steps. */
export function planPod(view: PodView, now: number): Plan {
  const draft = new Draft(view, now);
  if (view.ending) draft.end('ending');
  else if (view.sandbox?.running === true && !view.sandboxBusy) draft.run(view.sandbox.run);
  else draft.renew();
  return draft.plan();
}

class Draft {
  readonly #view: PodView;
  readonly #now: number;
  readonly #policy: RestartPolicy;
  readonly #steps: Step[] = [];
  readonly #backingOff = new Map<string, { until: number; delayMs: number }>();
  #wakeAt: number | undefined;
  #over = false;

  constructor(view: PodView, now: number) {
    this.#view = view;
    this.#now = now;
    this.#policy = restartPolicyOf(view.spec);
  }

  plan(): Plan {
    return { steps: this.#steps, backingOff: this.#backingOff, wakeAt: this.#wakeAt, over: this.#over };
  }

  get #inits(): readonly Container[] {
    return this.#view.spec.initContainers ?? [];
  }

  /** Ends what runs: app and init containers together, then sidecars from the last to the first. */
  end(cause: 'ending' | 'finished'): void {
    const { runs, busy, spec, sandboxBusy } = this.#view;
    const sidecars = new Set(this.#inits.filter(isSidecar).map(({ name }) => name));
    const known = new Set([...spec.containers, ...this.#inits].map(({ name }) => name));
    const active = (name: string): boolean => busy.has(name) || runs.get(name)?.state === 'running';
    const first = [...new Set([...known, ...runs.keys()])].filter((name) => !sidecars.has(name) && active(name));
    const last = this.#inits.map(({ name }) => name).findLast((name) => sidecars.has(name) && active(name));
    for (const name of first.length > 0 ? first : last === undefined ? [] : [last]) {
      const run = runs.get(name);
      if (run?.state === 'running' && !busy.has(name)) this.#steps.push({ do: 'stop', run, cause, restart: false });
    }
    this.#over = first.length === 0 && last === undefined && !sandboxBusy;
  }

  /** Without a sandbox that runs: what is left in the old one ends, then a new one is made, if anything is to run in it. */
  renew(): void {
    const { runs, busy, sandbox, sandboxBusy, spec, sandboxRetryAt } = this.#view;
    if (sandboxBusy) return;
    const anew = sandbox !== undefined;
    const left = [...runs.values()].filter(({ name, state }) => state === 'running' || busy.has(name));
    if (left.length > 0) {
      for (const run of left) if (!busy.has(run.name)) this.#steps.push({ do: 'stop', run, cause: 'sandbox', restart: this.#policy !== 'Never' });
      return;
    }
    if (busy.size > 0) return;
    const wanted = spec.containers.filter(({ name }) => {
      const run = runs.get(name);
      return run === undefined || restarts({}, this.#policy, run.exitCode);
    });
    if ((this.#policy === 'Never' && runs.size > 0) || wanted.length === 0) {
      this.#over = true;
      return;
    }
    if (this.#dueAt(sandboxRetryAt)) this.#steps.push({ do: 'sandbox', anew });
  }

  /** In a sandbox that runs: init containers one after the other, then the containers of the app. */
  run(sandboxRun: string): void {
    const { spec, runs } = this.#view;
    const initialized = spec.containers.some(({ name }) => runs.get(name)?.sandboxRun === sandboxRun);
    for (const container of this.#inits) {
      const goOn = isSidecar(container) ? this.#sidecar(container, sandboxRun) : initialized || this.#init(container, sandboxRun);
      if (!goOn && !initialized) return;
    }
    let active = false;
    for (const container of spec.containers) active = this.#app(container) || active;
    if (!active) this.end('finished');
  }

  /** Whether what comes after it may start. */
  #init(container: Container, sandboxRun: string): boolean {
    const run = this.#view.runs.get(container.name);
    if (this.#view.busy.has(container.name)) return false;
    if (run === undefined || run.sandboxRun !== sandboxRun) this.#start(container, run);
    else if (run.state === 'created') this.#steps.push({ do: 'discard', run });
    else if (run.state === 'running') return false;
    else if (run.exitCode === 0) return true;
    else if (retriesInit(this.#policy)) this.#restart(container, run);
    else this.end('finished');
    return false;
  }

  #sidecar(container: Container, sandboxRun: string): boolean {
    const { runs, busy, started } = this.#view;
    const run = runs.get(container.name);
    if (busy.has(container.name)) return false;
    if (run === undefined || (run.sandboxRun !== sandboxRun && run.state === 'exited')) this.#start(container, run);
    else if (run.state === 'created') this.#steps.push({ do: 'discard', run });
    else if (run.state === 'exited') this.#restart(container, run);
    else if (!this.#check(container, run)) return started.has(container.name);
    return false;
  }

  /** Whether it runs or will. */
  #app(container: Container): boolean {
    const { runs, busy } = this.#view;
    const run = runs.get(container.name);
    if (busy.has(container.name)) return true;
    if (run === undefined) this.#start(container, undefined);
    else if (run.state === 'created') this.#steps.push({ do: 'discard', run });
    else if (run.state === 'running') this.#check(container, run);
    else if (restarts(container, this.#policy, run.exitCode)) this.#restart(container, run);
    else return false;
    return true;
  }

  /** Ends a running container that is not what it should be. */
  #check(container: Container, run: Run): boolean {
    const changed = isChanged(container, run);
    const cause = changed ? 'changed' : this.#view.unhealthy.get(container.name);
    if (cause === undefined) return false;
    this.#steps.push({ do: 'stop', run, cause, restart: changed || isSidecar(container) || this.#policy !== 'Never' });
    return true;
  }

  #restart(container: Container, run: Run): void {
    // A changed definition is no crash.
    const until = isChanged(container, run) ? this.#now : restartAt(run);
    if (until > this.#now) {
      this.#backingOff.set(container.name, { until, delayMs: run.backOffMs });
      this.#wake(until);
    } else this.#start(container, run);
  }

  #start(container: Container, previous: Run | undefined): void {
    if (!this.#dueAt(this.#view.retryAt.get(container.name))) return;
    this.#steps.push({ do: 'start', container, attempt: previous === undefined ? 0 : previous.attempt + 1, backOffMs: previous !== undefined && isChanged(container, previous) ? 0 : nextBackOff(previous) });
  }

  #dueAt(at: number | undefined): boolean {
    if (at === undefined || at <= this.#now) return true;
    this.#wake(at);
    return false;
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt ?? at, at);
  }
}

/** Of a run that only a stored status tells of it is not known. */
const isChanged = (container: Container, run: Run): boolean => run.specHash !== '' && run.specHash !== specHash(container);
