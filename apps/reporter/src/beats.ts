import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { RunnerEnd, SilentOutcome, SilentRunner } from '@roundsman/reports';

interface Heard {
  node: string;
  runtime: string;
  first: number;
  at: number;
  /** What its process calls itself. */
  instance: string;
  /** When processes were first heard that took the place of another one, and when that one was heard last; the newest last. */
  replaced: readonly { readonly at: number; readonly lastAt: number }[];
  pod: string | undefined;
  ready: boolean;
  reason: string | undefined;
  running: ReadonlySet<string>;
}

const roundKey = (taskUid: string, round: number): string => `${taskUid}/${round}`;
/** Heartbeats come every second. */
const silenceMs = 5_000;
/** Restarts of one runner that are remembered. */
const mostReplaced = 100;

/** What runners said in their heartbeats, for the reason why one of them did not report. */
export class Beats {
  readonly #heard = new Map<string, Heard>();
  /** Round -> runner -> when it was last seen running it. */
  readonly #ran = new Map<string, Map<string, number>>();
  #since = Date.now();
  #subscription: Subscription | undefined;

  async start(bus: Bus): Promise<void> {
    this.#since = Date.now();
    this.#subscription = await bus.subscribe(messages.runnerBeat, {}, ({ payload: { runner, node, runtime, ready, reason, running, instance, pod } }) => {
      const at = Date.now();
      const rounds = running.map(({ taskUid, round }) => roundKey(taskUid, round));
      const before = this.#heard.get(runner);
      const replaced = before === undefined || before.instance === instance ? (before?.replaced ?? []) : [...before.replaced.slice(1 - mostReplaced), { at, lastAt: before.at }];
      this.#heard.set(runner, { node, runtime, first: before?.first ?? at, at, instance, replaced, pod, ready, reason, running: new Set(rounds) });
      for (const round of rounds) {
        let runners = this.#ran.get(round);
        if (runners === undefined) this.#ran.set(round, (runners = new Map()));
        runners.set(runner, at);
      }
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.stop();
  }

  /** Milliseconds for which it has listened: with less than a few seconds it can say little. */
  get listeningMs(): number {
    return Date.now() - this.#since;
  }

  /** Nobody asks about this round any more. */
  forget(taskUid: string, round: number): void {
    this.#ran.delete(roundKey(taskUid, round));
  }

  /** Forgets runners and rounds that were not heard of for an hour. */
  prune(): void {
    const before = Date.now() - 3_600_000;
    for (const [runner, { at }] of this.#heard) if (at < before) this.#heard.delete(runner);
    for (const [round, runners] of this.#ran) if ([...runners.values()].every((at) => at < before)) this.#ran.delete(round);
  }

  /** Does one of these runners say that it is at work on this round, or did a moment ago, so that its result is on its way? */
  atWork({ taskUid, round }: { readonly taskUid: string; readonly round: number }, runners: readonly string[]): boolean {
    const ran = this.#ran.get(roundKey(taskUid, round));
    return ran !== undefined && runners.some((runner) => Date.now() - (ran.get(runner) ?? 0) < silenceMs);
  }

  /** The runners whose process took the place of another one since then, with the first end of one. */
  restartedSince(ms: number): Map<string, RunnerEnd> {
    const ends = new Map<string, RunnerEnd>();
    for (const [runner, { replaced }] of this.#heard) {
      const since = replaced.filter(({ at }) => at >= ms);
      const [first] = since;
      const last = since.at(-1);
      if (first === undefined || last === undefined) continue;
      const ended = since.length === 1 ? 'its process ended, and the next one' : `its process ended ${since.length} times, and the last one`;
      ends.set(runner, { at: new Date(first.lastAt), words: `${ended} was first heard at ${new Date(last.at).toISOString()}` });
    }
    return ends;
  }

  /** The best that can be said of a runner that has no outcome when its round, open since `sinceMs`, is closed. `end`: of its container, within the round. */
  explain({ taskUid, round, sinceMs }: { readonly taskUid: string; readonly round: number; readonly sinceMs: number }, cause: 'complete' | 'deadline' | 'canceled' | 'missed', silent: SilentRunner, end?: RunnerEnd): SilentOutcome {
    if (cause === 'missed') return { state: 'missing', reason: 'the time of the round passed while nothing could run it' };
    if (silent.notReady !== undefined) return { state: 'missing', reason: `it was not ready when the round started: ${silent.notReady}` };
    const ended = (reason: string): SilentOutcome => ({ state: 'missing', reason, cut: 'ended' });
    const missing = (reason: string): SilentOutcome => (end === undefined ? { state: 'missing', reason } : ended(`${end.words}; ${reason}`));
    if (silent.received > 0) return missing(`only ${silent.received} of ${silent.parts} parts of its result arrived`);
    const key = roundKey(taskUid, round);
    const ran = this.#ran.get(key)?.get(silent.runner);
    const heard = this.#heard.get(silent.runner);
    const close = cause === 'canceled' ? 'when the round was canceled' : 'at the deadline';
    if (heard === undefined) return missing(`no heartbeat from it for at least ${seconds(this.listeningMs)}`);
    const quiet = Date.now() - heard.at;
    if (quiet > silenceMs) {
      const successor = this.#successorOf(silent.runner, heard);
      // Who was silent for longer when the round began is away for another reason.
      if (successor !== undefined && heard.at > sinceMs - silenceMs) return ended(`${end === undefined ? '' : `${end.words}; `}it was replaced by ${successor}, and not heard since ${new Date(heard.at).toISOString()}`);
      const last = `no heartbeat since ${new Date(heard.at).toISOString()} (${seconds(quiet)} before the close)`;
      return missing(ran === undefined ? last : `${last}; it was running the round then`);
    }
    const again = heard.replaced.findLast(({ at }) => at >= sinceMs)?.at;
    if (heard.running.has(key)) {
      const busy = cause === 'canceled' ? 'did not stop in time when the round was canceled' : 'was still running at the deadline';
      return again === undefined ? missing(`it ${busy}`) : ended(`${restarted(again, heard.pod, end)} and ${busy}`);
    }
    if (again !== undefined) return ended(`${restarted(again, heard.pod, end)}${ran === undefined ? '' : '; what it had measured is lost'}`);
    if (ran !== undefined) return missing(`it ran the round until ${new Date(ran).toISOString()}, but its result did not arrive: lost, or still on its way`);
    if (cause === 'canceled') return { state: 'canceled', reason: 'canceled before it began' };
    if (!heard.ready) return missing(`it never picked up the work; ${close} it was not ready${heard.reason === undefined ? '' : `: ${heard.reason}`}`);
    return missing('it is alive but never picked up the work');
  }

  /** A runner of the same runtime that came to its node when it had gone. */
  #successorOf(runner: string, { node, runtime, at }: Heard): string | undefined {
    for (const [name, heard] of this.#heard) if (name !== runner && heard.node === node && heard.runtime === runtime && heard.first > at && Date.now() - heard.at <= silenceMs) return name;
    return undefined;
  }
}

/** Where nobody told how it ended, whoever keeps it knows. */
function restarted(at: number, pod: string | undefined, end: RunnerEnd | undefined): string {
  const [namespace, name] = pod?.split('/') ?? [];
  const why = name === undefined ? 'its agent logs why' : `kubectl describe pod -n ${namespace} ${name} tells why`;
  return `${end?.words ?? `its process ended (${why})`}; the next one was first heard at ${new Date(at).toISOString()}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
