import type { Probe } from '@roundsman/api';
import type { Outcome } from './outcome.ts';
import { patience } from '../patience.ts';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** What a probe of one run of a container has said so far. Pure: `count` gives the next. */
export interface ProbeCount {
  /** undefined: neither threshold was reached yet. */
  readonly verdict: boolean | undefined;
  readonly last: 'success' | 'failure' | undefined;
  readonly inARow: number;
}

export const unprobed: ProbeCount = { verdict: undefined, last: undefined, inARow: 0 };

export function count(before: ProbeCount, outcome: Outcome, { successThreshold, failureThreshold }: Pick<Probe, 'successThreshold' | 'failureThreshold'>): ProbeCount {
  if (outcome.result === 'unknown') return before;
  const last = outcome.result === 'failure' ? 'failure' : 'success';
  const inARow = before.last === last ? before.inARow + 1 : 1;
  const reached = inARow >= (last === 'failure' ? failureThreshold : successThreshold);
  return { verdict: reached ? last === 'success' : before.verdict, last, inARow };
}

export interface ProbeRunOptions {
  readonly probe: Probe;
  /** When the container started, epoch milliseconds. */
  readonly startedAt: number;
  readonly try: (signal: AbortSignal) => Promise<Outcome>;
  readonly onOutcome: (outcome: Outcome) => void;
  readonly onVerdict: (verdict: boolean) => void;
  /** Its success is waited for: it is tried in between, too. */
  readonly awaited: boolean;
  /** It ends by itself with such a verdict: nothing more is to be found out. */
  readonly endsWith: (verdict: boolean) => boolean;
}

/** What has just been started is looked at so often, and so long, for somebody who listens. */
const listeningMs = { every: 250, longest: 10_000 };

/**
 * Probes one run of a container: first after the initial delay, then every period, until stopped or decided. Where its success is waited for and nobody listens
 * yet, which the container does not notice, it is tried in between too, so that a start is not rounded up to whole periods; such a try counts only if it succeeds.
 */
export class ProbeRun {
  readonly #options: ProbeRunOptions;
  #count = unprobed;
  /** When the next try is due, which counts whatever it finds; by performance.now(). */
  #due = 0;
  #timer: NodeJS.Timeout | undefined;
  #trying: AbortController | undefined;
  /** Somebody has listened. */
  #answered = false;
  #stopped = false;

  constructor(options: ProbeRunOptions) {
    this.#options = options;
    const due = options.startedAt + (options.probe.initialDelaySeconds ?? 0) * 1000;
    this.#schedule(Math.max(0, due - Date.now()), false);
  }

  get verdict(): boolean | undefined {
    return this.#count.verdict;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#trying?.abort();
  }

  #schedule(ms: number, between: boolean): void {
    this.#timer = setTimeout(() => void this.#once(between), ms);
  }

  /** `between`: a try that is not due. */
  async #once(between: boolean): Promise<void> {
    const { probe, onOutcome, onVerdict, endsWith } = this.#options;
    const began = performance.now();
    const trying = new AbortController();
    this.#trying = trying;
    const answered = patience(probe.timeoutSeconds * 1000, () => trying.abort());
    const outcome = await this.#options.try(trying.signal).catch((error: Error): Outcome => ({ result: 'unknown', message: error.message }));
    answered();
    if (this.#stopped) return;
    this.#answered ||= outcome.result !== 'unknown' && outcome.refused !== true;
    if (between && (outcome.result === 'failure' || outcome.result === 'unknown')) return this.#next(outcome);
    const before = this.#count.verdict;
    this.#count = count(this.#count, outcome, probe);
    if (outcome.result !== 'success') onOutcome(outcome);
    const { verdict } = this.#count;
    if (verdict !== undefined && verdict !== before) onVerdict(verdict);
    this.#due = began + probe.periodSeconds * 1000;
    if (verdict !== undefined && endsWith(verdict)) this.#stopped = true;
    else this.#next(outcome);
  }

  /** Soon again while nobody has listened yet, unless that takes too long already; else when it is due. */
  #next({ refused }: Outcome): void {
    const { awaited, startedAt } = this.#options;
    const untilDue = Math.max(0, this.#due - performance.now());
    const soon = awaited && refused === true && !this.#answered && Date.now() - startedAt < listeningMs.longest && listeningMs.every < untilDue;
    this.#schedule(soon ? listeningMs.every : untilDue, soon);
  }
}
