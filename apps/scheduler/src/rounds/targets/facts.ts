import type { ProbeTarget, RoundSpec } from '@roundsman/api';

/** What the targets of a round are computed from: parts of the Round alone, so that whoever computes them again gets the same. */
export type RoundFacts = Pick<RoundSpec, 'taskRef' | 'number' | 'taskSpec' | 'runners' | 'paths' | 'dnsServers'>;

/** A runner that takes part: it was ready when the round was made. */
export type Peer = RoundSpec['runners'][number];

/** In name order, whatever the order they are listed in. */
export const peersOf = (runners: readonly Peer[]): Peer[] => runners.filter(({ notReady }) => notReady === undefined).sort((a, b) => (a.runner < b.runner ? -1 : 1));

/** Why a part of what carries a round is not there, as its Runtime or its task tells. */
export interface Reasons {
  /** Of its runners. */
  readonly workload?: string | undefined;
  readonly services?: string | undefined;
  readonly ingress?: string | undefined;
  readonly dnsServers?: string | undefined;
}

/** What there is of the targets asked for; `gaps` tells of the rest, in words. */
export interface Coverage<T extends ProbeTarget = ProbeTarget> {
  readonly targets: readonly T[];
  readonly gaps: readonly string[];
}
