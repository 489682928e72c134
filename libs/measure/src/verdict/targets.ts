import type { RoundFinding, TargetResult } from '@roundsman/api';
import { causeOf, impairment } from './cause.ts';
import { combine, evidenceOf, type Health, type Observation } from './observation.ts';

/** What lower layers already said, so that it is not said again. */
export interface Known {
  /** Nodes whose own probes fail because of themselves. */
  badSources: ReadonlySet<string>;
  /** What each node saw of the other nodes' endpoints; absent where it did not probe them. */
  endpoints: ReadonlyMap<string, Health>;
}

type Layer = TargetResult['layer'];

/** Layers in which the cluster forwards to the endpoints: when these answer directly, the forwarding is what is broken. */
const forwarding: Partial<Record<Layer, string>> = {
  clusterIP: 'the service forwarding (kube-proxy or its like)',
  nodePort: 'the node port forwarding (kube-proxy or its like)',
  loadBalancer: 'the load balancer',
  ingress: 'the ingress',
};

/** Targets that are no node of the mesh: services, URLs, DNS servers. `observations` are of one target, from all nodes. */
export function judgeTarget(target: string, observations: readonly Observation[], known: Known): RoundFinding[] {
  const witnesses = observations.filter((o) => !known.badSources.has(o.from));
  if (witnesses.every((o) => o.health === 'good')) return [];
  const { layer, address } = witnesses[0]!.result;
  const down = witnesses.filter((o) => o.health === 'down');
  // A DNS target is called after its address already.
  const name = target.endsWith(address) ? target : `${target} (${address})`;
  const findings: RoundFinding[] = [];
  if (down.length === witnesses.length) return [wholeTarget(target, name, layer, down, known)];
  for (const [node, all] of byNode(down)) {
    const forwarder = forwarding[layer];
    const cause = causeOf(all)?.text;
    const tail = cause === undefined ? '' : `; ${cause}`;
    if (forwarder !== undefined && known.endpoints.get(node) === 'good') {
      findings.push({ code: 'service-forwarding', severity: 'critical', subject: `node ${node}`, message: `On node ${node} ${forwarder} is broken: the endpoints answer directly, but ${name} does not, while it works from other nodes${tail}.`, evidence: evidenceOf(all) });
    } else {
      findings.push({ code: 'path-broken', severity: 'critical', subject: `path ${node} -> ${target}`, message: `Node ${node} cannot reach ${name}, other nodes can${tail}.`, evidence: evidenceOf(all) });
    }
  }
  const impaired = witnesses.filter((o) => o.health === 'impaired');
  if (impaired.length === 0) return findings;
  const { code, text } = impairment(impaired);
  if (impaired.length === witnesses.length) {
    const dominating = causeOf(impaired)?.code;
    findings.push({ code: code ?? dominating ?? 'target-degraded', severity: 'warning', subject: `target ${target}`, message: `${name} is degraded from everywhere: ${text}.`, evidence: evidenceOf(impaired) });
    return findings;
  }
  for (const [node, all] of byNode(impaired)) {
    const own = impairment(all);
    findings.push({ code: own.code ?? 'path-degraded', severity: 'warning', subject: `path ${node} -> ${target}`, message: `${name} is degraded from node ${node}: ${own.text}.`, evidence: evidenceOf(all) });
  }
  return findings;
}

function wholeTarget(target: string, name: string, layer: Layer, down: readonly Observation[], known: Known): RoundFinding {
  const cause = causeOf(down);
  const tail = cause === undefined ? '' : `: ${cause.text}`;
  const forwarder = forwarding[layer];
  const endpoints = [...new Set(down.map((o) => known.endpoints.get(o.from)))];
  if (forwarder !== undefined && endpoints.length > 0 && endpoints.every((health) => health === 'good')) {
    return { code: 'service-forwarding', severity: 'critical', subject: `target ${target}`, message: `${name} fails from every node although every endpoint answers directly: ${forwarder} is broken, or the service has no endpoints${tail}.`, evidence: evidenceOf(down) };
  }
  return { code: cause?.code ?? 'target-down', severity: 'critical', subject: `target ${target}`, message: `${name} fails from every node that tried${tail}.`, evidence: evidenceOf(down) };
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
    merged.push({ code: 'node-no-egress', severity: 'critical', subject: `node ${node}`, message: `Node ${node} cannot reach out: all of its ${own.length} targets fail, though other nodes reach them.`, evidence: evidenceOf(own) });
  }
  return [...merged, ...findings.filter((f) => !gone.has(f))];
}

function byNode(all: readonly Observation[]): Map<string, Observation[]> {
  const map = new Map<string, Observation[]>();
  for (const observation of all) {
    const list = map.get(observation.from);
    if (list === undefined) map.set(observation.from, [observation]);
    else list.push(observation);
  }
  return map;
}
