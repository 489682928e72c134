import type { RoundFinding, TargetResult, Verdict, VerdictState } from '@roundsman/api';
import { compareNames } from '../names.ts';
import { withoutCut } from './cut.ts';
import { exhaustionOf } from './exhaustion.ts';
import { evidenceOf, observe, type Observation, type RunnerOutcome } from './observation.ts';
import { judgeReachability } from './reachability.ts';
import { failsForAll, holdsWhenStarved } from './starved.ts';
import { ofOneTime, otherTimes, withTimes } from './times.ts';

/**
 * Says what is broken, from everything a round measured: every expected runner must be among `runners`, silent ones as
 * `missing`. What was measured at another time than by most is no proof of where a fault lies. Latencies and timeouts of starved probers, and failures that are a prober's own, are not used to accuse
 * anybody; a refusal, a wrong answer, or silence for much longer than it stood still, which a starved prober met counts,
 * as does what fails for everybody for no reason of time. Nor is what a runner's end left open
 * (`withoutCut`). None of that makes a round healthy, nor does one of whose task a part could not be tested (`notTested`, in words:
 * `spec.target.ipv6: why`). `canceled`: the round was, which is the first thing to say of it.
 */
export function verdictOf(outcomes: readonly RunnerOutcome[], notTested: readonly string[] = [], canceled = outcomes.some(({ state }) => state === 'canceled')): Verdict {
  const runners = withoutCut(outcomes);
  const measured = runners.filter((r) => r.state !== 'canceled');
  const isTrusted = trustIn(measured);
  const others = otherTimes(measured);
  const observations = ofOneTime(measured.flatMap((r) => r.targets.filter((result) => isTrusted(r, result)).map((result) => observe(r.node, result))), others);
  const found = judgeReachability(observations, silentNodes(runners)).map((finding) => withTimes(finding, others));
  const findings = [...found, ...judgeRunners(runners, isTrusted), ...judgeParts(notTested), ...(canceled ? [cancellation(runners)] : [])];
  if (findings.length === 0 && observations.length === 0) {
    findings.push({ code: 'no-targets', severity: 'warning', subject: 'round', message: 'The round measured nothing: it had no runner or no target.', evidence: [] });
  }
  const explaining = explainedBy(runners, findings);
  findings.sort((a, b) => rankOf(a, explaining) - rankOf(b, explaining));
  return { state: stateOf(findings), summary: summaryOf(findings, observations, runners, canceled), findings };
}

type IsTrusted = (runner: RunnerOutcome, result: TargetResult) => boolean;

/** The two ways in which a prober spoils what it measured. */
function trustIn(runners: readonly RunnerOutcome[]): IsTrusted {
  const dead = runners.some(({ starvation }) => starvation?.suspect === true) ? failsForAll(runners.flatMap(({ targets }) => targets)) : new Set<string>();
  return ({ starvation }, result) => exhaustionOf(result) === undefined && (starvation?.suspect !== true || dead.has(result.target) || holdsWhenStarved(result, starvation));
}

function silentNodes(runners: readonly RunnerOutcome[]): Set<string> {
  const heard = new Set(runners.filter((r) => r.state !== 'missing').map((r) => r.node));
  return new Set(runners.map((r) => r.node).filter((node) => !heard.has(node)));
}

/** The worst first; what cut the round short before what was found in the rest of it, trouble of the measuring itself after what it found. */
function rankOf(finding: RoundFinding, explaining: ReadonlySet<RoundFinding>): number {
  const { code, severity } = finding;
  if (code === 'round-canceled') return 1;
  if (explaining.has(finding)) return 2;
  if (code === 'runner-ended' || code === 'runner-restarted') return 2;
  return severity === 'critical' ? 0 : severity === 'info' ? 5 : untrusted.has(code) ? 4 : 3;
}

/** Of the missing runners those on nodes that are found degraded: their silence is the reason for it, or has the same one. */
function explainedBy(runners: readonly RunnerOutcome[], findings: readonly RoundFinding[]): Set<RoundFinding> {
  const degraded = new Set(findings.filter(({ severity, layer }) => severity === 'warning' && layer !== undefined).flatMap(({ subject }) => subject.split(' ')));
  const silent = new Set(runners.filter(({ state, node }) => state === 'missing' && degraded.has(node)).map(({ runner }) => `runner ${runner}`));
  return new Set(findings.filter(({ code, subject }) => code === 'runner-missing' && silent.has(subject)));
}

/** Says no more than that it was canceled. */
const saysNothing = /^(?:the round was )?canceled(?: before it began)?$/;

function cancellation(runners: readonly RunnerOutcome[]): RoundFinding {
  const told = runners.filter(({ state, reason }) => state === 'canceled' && reason !== undefined && !saysNothing.test(reason));
  return { code: 'round-canceled', severity: 'info', subject: 'round', message: `The round was canceled before its end${told.length === 0 ? '' : `: ${reasonsOf(told)}`}.`, evidence: [] };
}

function judgeRunners(runners: readonly RunnerOutcome[], isTrusted: IsTrusted): RoundFinding[] {
  const findings: RoundFinding[] = [];
  if (runners.length > 1 && runners.every((r) => r.state === 'missing')) {
    findings.push({ code: 'no-targets', severity: 'warning', subject: 'round', message: `The round measured nothing: none of its ${runners.length} runners reported: ${reasonsOf(runners)}.`, evidence: [] });
  }
  const toRunners = runners.some(({ targets }) => targets.some(({ layer }) => layer !== 'url' && layer !== 'dns'));
  const leftOut = toRunners ? ' What failed at it since then is left out.' : '';
  const sorted = runners.toSorted((a, b) => compareNames(a.runner, b.runner));
  const ended = sorted.filter(({ cut }) => cut === 'ended');
  const missing = sorted.filter((r) => r.state === 'missing' && r.cut !== 'ended');
  const unnamed = new Set([...missing.slice(maxNamed), ...ended.slice(maxNamed)]);
  for (const r of sorted) {
    if (unnamed.has(r)) continue;
    const who = `runner ${r.runner}`;
    const where = r.node === '' ? r.runner : `${r.runner} on node ${r.node}`;
    const why = r.reason === undefined ? '' : `: ${withoutStop(r.reason)}`;
    if (r.cut === 'ended') findings.push({ code: 'runner-ended', severity: 'warning', subject: who, message: `Runner ${where} ended during the round${why}.${leftOut}`, evidence: [] });
    else if (r.cut === 'restarted') findings.push({ code: 'runner-restarted', severity: 'warning', subject: who, message: `Runner ${where} was started again during the round${why}.${leftOut}`, evidence: [] });
    else if (r.state === 'missing') findings.push({ code: 'runner-missing', severity: 'warning', subject: who, message: `Runner ${where} did not report${why}.`, evidence: [] });
    else if (r.state === 'error') findings.push({ code: 'runner-error', severity: 'warning', subject: who, message: `Runner ${where} could not ${r.targets.length > 0 ? 'finish' : 'run'} the round${why}.`, evidence: [] });
    if (r.starvation?.suspect === true) {
      const doubtful = r.targets.filter((t) => !isTrusted(r, t)).length;
      const saw = doubtful === 0 ? '' : ` (${doubtful} of its ${r.targets.length} targets seemed bad, which is left out)`;
      findings.push({ code: 'prober-starved', severity: 'warning', subject: who, message: `Runner ${where} was starved while it measured, its latencies and timeouts cannot be trusted${saw}: ${r.starvation.reasons.join('; ')}.`, evidence: evidenceOf(r.targets.map((t) => observe(r.node, t))) });
    } else if (r.state !== 'canceled') {
      const exhausted = r.targets.filter((t) => exhaustionOf(t) !== undefined);
      if (exhausted.length === 0) continue;
      const [first] = exhausted;
      findings.push({ code: 'prober-exhausted', severity: 'warning', subject: who, message: `Runner ${where} reached its own limits, what it measured at ${exhausted.length} of its ${r.targets.length} targets cannot be trusted; ${first!.target}: ${exhaustionOf(first!)}.`, evidence: evidenceOf(exhausted.map((t) => observe(r.node, t))) });
    }
  }
  const rest = (code: 'runner-missing' | 'runner-ended', all: readonly RunnerOutcome[], did: string): void => {
    if (all.length > 0) findings.push({ code, severity: 'warning', subject: `${all.length} more runners`, message: `${all.length} more runners ${did}: ${reasonsOf(all)}.`, evidence: [] });
  };
  rest('runner-missing', missing.slice(maxNamed), 'did not report');
  rest('runner-ended', ended.slice(maxNamed), 'ended during the round');
  return findings;
}

/** Why runners are missing, each reason once, the most frequent first. */
function reasonsOf(runners: readonly RunnerOutcome[]): string {
  const counts = [...Map.groupBy(runners, (r) => withoutStop((r.reason ?? 'nobody knows why').slice(0, maxReasonLength).toWellFormed()))].map(([reason, all]) => ({ reason, n: all.length })).sort((a, b) => b.n - a.n);
  const told = counts.slice(0, maxReasons).map(({ reason, n }) => (counts.length === 1 ? reason : `${reason} (${n})`));
  return counts.length > maxReasons ? `${told.join('; ')}; and ${counts.length - maxReasons} more reasons` : told.join('; ');
}
const maxReasons = 3;
const maxReasonLength = 300;
/** Runners named one by one that are missing, or that ended; beyond, one finding counts the rest. */
const maxNamed = 20;

/** What the task asked for and nobody could measure. */
function judgeParts(notTested: readonly string[]): RoundFinding[] {
  return notTested.map((words): RoundFinding => ({ code: 'not-tested', severity: 'warning', subject: words.split(': ')[0]!, message: `Not tested: ${withoutStop(words)}.`, evidence: [] }));
}

/** The measuring itself had trouble: that says nothing about what was measured. */
const untrusted = new Set<RoundFinding['code']>(['prober-starved', 'prober-exhausted']);
const incomplete = new Set<RoundFinding['code']>(['runner-missing', 'runner-ended', 'runner-restarted', 'runner-error', 'round-canceled', 'no-targets', 'not-tested']);

function stateOf(findings: readonly RoundFinding[]): VerdictState {
  if (findings.some((f) => f.severity === 'critical')) return 'broken';
  if (findings.some((f) => !untrusted.has(f.code) && !incomplete.has(f.code))) return 'degraded';
  if (findings.some((f) => incomplete.has(f.code))) return 'incomplete';
  return findings.length > 0 ? 'suspect' : 'healthy';
}

/** Reasons that others gave may end in a full stop: the sentence around them has its own. */
const withoutStop = (words: string): string => words.replace(/\.+$/, '');
const withMore = (message: string, more: number): string => (more < 1 ? message : `${withoutStop(message)} (and ${more} more).`);

function summaryOf(findings: readonly RoundFinding[], observations: readonly Observation[], runners: readonly RunnerOutcome[], canceled: boolean): string {
  const first = findings[0];
  if (first === undefined) {
    const targets = new Set(observations.map((o) => o.result.target)).size;
    const what = targets === 1 ? 'The target is' : `All ${targets} targets are`;
    return `${what} good from ${runners.length === 1 ? 'the one runner' : `all ${runners.length} runners`}.`;
  }
  const more = findings.length - 1;
  // That it was canceled is said already, where it is not the first finding.
  if (canceled && first.code !== 'round-canceled') return `The round was canceled before its end; until then: ${withMore(first.message, more - 1)}`;
  return withMore(first.message, more);
}
