import type { RoundFinding, TargetResult, Verdict, VerdictState } from '@roundsman/api';
import { compareNames } from '../names.ts';
import { exhaustionOf } from './exhaustion.ts';
import { judgeMesh } from './mesh.ts';
import { combine, evidenceOf, observe, type Health, type Observation, type RunnerOutcome } from './observation.ts';
import { holdsWhenStarved } from './starved.ts';
import { judgeTarget, mergeBySource } from './targets.ts';

/**
 * Says what is broken, from everything a round measured: every expected runner must be among `runners`, silent ones as
 * `missing`. Latencies and timeouts of starved probers, and failures that are a prober's own, are not used to accuse
 * anybody; a refusal or a wrong answer that a starved prober was given counts. Neither makes a round healthy.
 */
export function verdictOf(runners: readonly RunnerOutcome[]): Verdict {
  const observations = runners
    .filter((r) => r.state !== 'canceled')
    .flatMap((r) => r.targets.filter((result) => isTrusted(r, result)).map((result) => observe(r.node, result)));
  const findings = [...judgeReachability(observations), ...judgeRunners(runners)];
  if (findings.length === 0 && observations.length === 0) {
    findings.push({ code: 'no-targets', severity: 'warning', subject: 'round', message: 'The round measured nothing: it had no runner or no target.', evidence: [] });
  }
  findings.sort((a, b) => rank[a.severity] - rank[b.severity] || Number(untrusted.has(a.code)) - Number(untrusted.has(b.code)));
  return { state: stateOf(findings), summary: summaryOf(findings, observations, runners), findings };
}

/** The two ways in which a prober spoils what it measured. */
const isTrusted = (runner: RunnerOutcome, result: TargetResult): boolean =>
  exhaustionOf(result) === undefined && (runner.starvation?.suspect !== true || holdsWhenStarved(result));

const rank: Record<RoundFinding['severity'], number> = { critical: 0, warning: 1, info: 2 };

function judgeReachability(observations: readonly Observation[]): RoundFinding[] {
  const isMesh = ({ result }: Observation): boolean => result.targetNode !== undefined && result.layer === 'endpoint';
  const mesh = observations.filter(isMesh);
  const others = observations.filter((o) => !isMesh(o));
  const families = [...new Set(mesh.map((o) => o.result.family))];
  const findings: RoundFinding[] = [];
  const badSources = new Set<string>();
  const dead = families.length > 1 ? families.filter((f) => combine(ofFamily(mesh, f)) === 'down') : [];
  for (const family of families) {
    const seen = ofFamily(mesh, family);
    const label = families.length > 1 && family !== undefined ? `over IP${family}` : '';
    if (dead.includes(family) && dead.length < families.length) {
      findings.push({ code: 'family-down', severity: 'critical', subject: `IP${family ?? ''}`, message: `IP${family ?? ''} does not work between any nodes, the other family does.`, evidence: evidenceOf(seen) });
      continue;
    }
    const verdict = judgeMesh(seen, label);
    findings.push(...verdict.findings);
    // A node that is cut off in one family only may well reach services in the other.
    if (families.length === 1) for (const node of verdict.badSources) badSources.add(node);
  }
  const endpoints = endpointHealth(mesh, dead);
  const byTarget = Map.groupBy(others, (o) => o.result.target);
  const ofTargets = [...byTarget].flatMap(([target, seen]) => judgeTarget(target, seen, { badSources, endpoints }));
  findings.push(...mergeBySource(ofTargets, others));
  return findings;
}

function ofFamily(all: readonly Observation[], family: 'v4' | 'v6' | undefined): Observation[] {
  return all.filter((o) => o.result.family === family);
}

/** Per probing node: does it reach the endpoints (in a family that works at all)? */
function endpointHealth(mesh: readonly Observation[], dead: readonly ('v4' | 'v6' | undefined)[]): Map<string, Health> {
  const alive = mesh.filter((o) => !dead.includes(o.result.family));
  return new Map([...Map.groupBy(alive, (o) => o.from)].map(([node, all]) => [node, combine(all)]));
}

function judgeRunners(runners: readonly RunnerOutcome[]): RoundFinding[] {
  const findings: RoundFinding[] = [];
  for (const r of runners.toSorted((a, b) => compareNames(a.runner, b.runner))) {
    const who = `runner ${r.runner}`;
    const where = `${r.runner} on node ${r.node}`;
    const why = r.reason === undefined ? '' : `: ${r.reason}`;
    if (r.state === 'missing') findings.push({ code: 'runner-missing', severity: 'warning', subject: who, message: `Runner ${where} did not report${why}.`, evidence: [] });
    if (r.state === 'error') findings.push({ code: 'runner-error', severity: 'warning', subject: who, message: `Runner ${where} could not run the round${why}.`, evidence: [] });
    if (r.state === 'canceled') findings.push({ code: 'round-canceled', severity: 'info', subject: who, message: `Runner ${where} was canceled${why}.`, evidence: [] });
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
  return findings;
}

/** The measuring itself had trouble: that says nothing about what was measured. */
const untrusted = new Set<RoundFinding['code']>(['prober-starved', 'prober-exhausted']);
const incomplete = new Set<RoundFinding['code']>(['runner-missing', 'runner-error', 'round-canceled', 'no-targets']);

function stateOf(findings: readonly RoundFinding[]): VerdictState {
  if (findings.some((f) => f.severity === 'critical')) return 'broken';
  if (findings.some((f) => !untrusted.has(f.code) && !incomplete.has(f.code))) return 'degraded';
  if (findings.some((f) => incomplete.has(f.code))) return 'incomplete';
  return findings.length > 0 ? 'suspect' : 'healthy';
}

function summaryOf(findings: readonly RoundFinding[], observations: readonly Observation[], runners: readonly RunnerOutcome[]): string {
  const first = findings[0];
  if (first === undefined) {
    const targets = new Set(observations.map((o) => o.result.target)).size;
    const what = targets === 1 ? 'The target is' : `All ${targets} targets are`;
    return `${what} good from ${runners.length === 1 ? 'the one runner' : `all ${runners.length} runners`}.`;
  }
  return findings.length === 1 ? first.message : `${first.message} (and ${findings.length - 1} more)`;
}
