import { targetUrl, unsupportedParts, type AppHttpHealthySpec, type Capabilities, type NetDnsSpec, type NetReachSpec, type ProbeTarget, type RoundSpec } from '@roundsman/api';
import { appHttp } from './app-http.ts';
import { echoPeer, isEchoName } from './echo.ts';
import { peersOf, type Coverage, type Reasons, type RoundFacts } from './facts.ts';
import type { Family } from './family.ts';
import { netDns } from './net-dns.ts';
import { netReach } from './net-reach.ts';

/** What one runner has to probe. The same for every attempt, whoever computes it: from the Round alone. */
export const targetsOf = (facts: RoundFacts, self: string): readonly ProbeTarget[] => coverageOf(facts, self, {}).targets;

/** What the task asks for and cannot be tested in this round, in words for the report. */
export function notTestedOf(facts: RoundFacts, capabilities: Capabilities, reasons: Reasons): string[] {
  const { taskRef, taskSpec } = facts;
  const impossible = unsupportedParts(taskRef.kind, taskSpec, capabilities);
  // Told once and by its cause, not for every family.
  const { gaps } = coverageOf({ ...facts, taskSpec: without(taskSpec, impossible.map(({ field }) => field)) }, '', reasons);
  return [...impossible.map(({ field, why }) => `${field}: ${why}`), ...gaps];
}

function coverageOf(facts: RoundFacts, self: string, reasons: Reasons): Coverage {
  const { taskRef, taskSpec } = facts;
  if (taskRef.kind === 'NetReach') return netReach(facts, taskSpec as unknown as NetReachSpec, reasons);
  const echo = echoPeer(self, peersOf(facts.runners));
  if (taskRef.kind === 'AppHttpHealthy') return { targets: [appHttp(taskSpec as unknown as AppHttpHealthySpec, echo)], gaps: [] };
  return netDns(taskSpec as unknown as NetDnsSpec, facts.dnsServers ?? [], echo, reasons);
}

/** The spec without these members of its target. */
function without(spec: RoundSpec['taskSpec'], fields: readonly string[]): RoundSpec['taskSpec'] {
  const prefix = 'spec.target.';
  const left = new Set(fields.filter((field) => field.startsWith(prefix)).map((field) => field.slice(prefix.length)));
  if (left.size === 0) return spec;
  return { ...spec, target: Object.fromEntries(Object.entries((spec['target'] ?? {}) as object).filter(([member]) => !left.has(member))) };
}

/** What of its runners others address in a round of this task: copied into the Round, and nothing else, so that it stays small. */
export interface Addressed {
  readonly families: readonly Family[];
  readonly ports: readonly string[];
}

/** Undefined: nobody addresses a runner. */
export function addressedOf(kind: RoundSpec['taskRef']['kind'], spec: unknown): Addressed | undefined {
  if (kind === 'NetReach') {
    const { target } = spec as NetReachSpec;
    if (!target.endpoint && !target.multusInterface) return undefined;
    return { families: target.endpoint ? [...(target.ipv4 ? (['v4'] as const) : []), ...(target.ipv6 ? (['v6'] as const) : [])] : [], ports: ['http'] };
  }
  const host = kind === 'AppHttpHealthy' ? targetUrl((spec as AppHttpHealthySpec).target.host).url?.hostname : (spec as NetDnsSpec).target.targetUser?.server;
  if (host === undefined || !isEchoName(host)) return undefined;
  return { families: ['v4', 'v6'], ports: kind === 'AppHttpHealthy' ? ['http', 'https'] : ['dns', 'dot'] };
}
