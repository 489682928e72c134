import { targetUrl, unsupportedParts, type AppHttpHealthySpec, type Capabilities, type NetDnsSpec, type NetReachSpec, type ProbeTarget, type RoundSpec } from '@roundsman/api';
import { appHttp } from './app-http.ts';
import { echoPeer, isEchoName } from './echo.ts';
import { peersOf, type Coverage, type Peer, type Reasons, type RoundFacts } from './facts.ts';
import type { Family } from './family.ts';
import { netDns } from './net-dns.ts';
import { netReach } from './net-reach.ts';

/** What each runner has to probe, by its name. The same for every attempt, whoever computes it: from the Round alone. */
export const targetsOf = (facts: RoundFacts): ((self: string) => readonly ProbeTarget[]) => coverageOf(facts, {}).targetsOf;

/** What the task asks for and cannot be tested in this round, in words for the report. */
export function notTestedOf(facts: RoundFacts, capabilities: Capabilities, reasons: Reasons): string[] {
  const { taskRef, taskSpec } = facts;
  const impossible = unsupportedParts(taskRef.kind, taskSpec, capabilities);
  // Told once and by its cause, not for every family.
  const { gaps } = coverageOf({ ...facts, taskSpec: without(taskSpec, impossible.map(({ field }) => field)) }, reasons);
  // Those that there are and are not ready are named as missing, each with its reason.
  const nobody = facts.runners.length > 0 ? [] : [`no runner carries the task${reasons.workload === undefined ? '' : `: ${reasons.workload}`}`];
  return [...nobody, ...impossible.map(({ field, why }) => `${field}: ${why}`), ...gaps];
}

/** What is the same for all runners is computed once: they may be hundreds, with hundreds of targets each. */
function coverageOf({ taskRef, number, taskSpec, runners, paths, dnsServers }: RoundFacts, reasons: Reasons): { targetsOf: (self: string) => readonly ProbeTarget[]; gaps: readonly string[] } {
  if (taskRef.kind === 'NetReach') {
    const { targets, gaps } = netReach({ taskRef, number, runners, paths }, taskSpec as unknown as NetReachSpec, reasons);
    return { targetsOf: () => targets, gaps };
  }
  const peers = peersOf(runners);
  if (taskRef.kind === 'AppHttpHealthy') return { targetsOf: (self) => [appHttp(taskSpec as unknown as AppHttpHealthySpec, echoPeer(self, peers))], gaps: [] };
  const dns = (echo: Peer | undefined): Coverage => netDns(taskSpec as unknown as NetDnsSpec, dnsServers ?? [], echo, reasons);
  return { targetsOf: (self) => dns(echoPeer(self, peers)).targets, gaps: dns(undefined).gaps };
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
