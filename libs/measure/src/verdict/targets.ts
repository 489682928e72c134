import type { RoundFinding } from '@roundsman/api';
import { causeOf, failing, impairment } from './cause.ts';
import { bySource, combine, evidenceOf, type Observation } from './observation.ts';

/** Targets that are no node of the mesh: URLs, DNS servers. `observations` are of one target, from all nodes; `badSources` are nodes whose probes fail because of themselves. */
export function judgeTarget(target: string, observations: readonly Observation[], badSources: ReadonlySet<string>): RoundFinding[] {
  const witnesses = observations.filter((o) => !badSources.has(o.from));
  if (witnesses.every((o) => o.health === 'good')) return [];
  const { layer, address } = witnesses[0]!.result;
  const down = witnesses.filter((o) => o.health === 'down');
  // A DNS target is called after its address already.
  const name = target.endsWith(address) ? target : `${target} (${address})`;
  const findings: RoundFinding[] = [];
  if (down.length === witnesses.length) {
    const cause = causeOf(down);
    const tail = cause === undefined ? '' : `: ${cause.text}`;
    return [{ code: cause?.code ?? 'target-down', severity: 'critical', subject: `target ${target}`, layer, message: `${name} fails from every node that tried${tail}.`, evidence: evidenceOf(down) }];
  }
  for (const [node, all] of bySource(down)) {
    const cause = causeOf(all);
    const tail = cause === undefined ? '' : `; ${cause.text}`;
    const said = cause?.answers === true ? `${name} ${failing(cause)} from node ${node}, from other nodes it does` : `Node ${node} cannot reach ${name}, other nodes can`;
    findings.push({ code: 'path-broken', severity: 'critical', subject: `path ${node} -> ${target}`, layer, message: `${said}${tail}.`, evidence: evidenceOf(all) });
  }
  const impaired = witnesses.filter((o) => o.health === 'impaired');
  if (impaired.length === 0) return findings;
  const { code, text } = impairment(impaired);
  if (impaired.length === witnesses.length) {
    const dominating = causeOf(impaired)?.code;
    findings.push({ code: code ?? dominating ?? 'target-degraded', severity: 'warning', subject: `target ${target}`, layer, message: `${name} is degraded from everywhere: ${text}.`, evidence: evidenceOf(impaired) });
    return findings;
  }
  for (const [node, all] of bySource(impaired)) {
    const own = impairment(all);
    findings.push({ code: own.code ?? 'path-degraded', severity: 'warning', subject: `path ${node} -> ${target}`, layer, message: `${name} is degraded from node ${node}: ${own.text}.`, evidence: evidenceOf(all) });
  }
  return findings;
}

/** A node that fails at several targets which others reach has the trouble itself. Removes what it explains. */
export function mergeBySource(findings: RoundFinding[], observations: readonly Observation[]): RoundFinding[] {
  const merged: RoundFinding[] = [];
  const gone = new Set<RoundFinding>();
  for (const node of new Set(observations.map((o) => o.from))) {
    const own = observations.filter((o) => o.from === node);
    const paths = findings.filter((f) => f.code === 'path-broken' && f.subject.startsWith(`path ${node} -> `));
    if (paths.length < 2 || combine(own) !== 'down') continue;
    for (const path of paths) gone.add(path);
    merged.push({ code: 'node-no-egress', severity: 'critical', subject: `node ${node}`, layer: own[0]!.result.layer, message: `Node ${node} cannot reach out: all of its ${own.length} targets fail, though other nodes reach them.`, evidence: evidenceOf(own) });
  }
  return [...merged, ...findings.filter((f) => !gone.has(f))];
}
