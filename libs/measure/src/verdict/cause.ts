import type { FindingCode, ProbeErrorCode } from '@roundsman/api';
import type { Observation } from './observation.ts';

/** This share of all failures makes one kind of error the cause. */
const dominant = 0.8;

export interface Cause {
  /** The finding's code when a whole target fails for this cause; absent: `target-down`. */
  code?: FindingCode;
  /** Continues a sentence: "…: connections are refused". */
  text: string;
  /** Something answers, only not what is wanted. */
  answers?: true;
}

/** How a sentence says that one, or several, fail for this cause: who answers wrongly must not be called silent. */
export const failing = (cause: Cause | undefined, many = false): string => `${many ? 'do' : 'does'} not answer${cause?.answers === true ? ' as expected' : ''}`;

const refusedWords = 'connections are refused: the host answers, but nothing listens on that port or a rule rejects it';
const byError: Record<ProbeErrorCode, Cause> = {
  timeout: { text: 'requests get no answer in time' },
  'connect-timeout': { text: 'connections cannot be made in time: packets are dropped on the way, or the host is gone' },
  refused: { code: 'target-refused', text: refusedWords },
  reset: { text: 'connections are reset' },
  unreachable: { text: 'there is no route to the address' },
  unresolved: { code: 'name-unresolved', text: 'the name cannot be resolved' },
  tls: { code: 'tls-failed', text: 'the TLS handshake fails', answers: true },
  protocol: { text: 'what answers does not speak the protocol', answers: true },
  status: { code: 'wrong-status', text: 'the HTTP status is not the expected one', answers: true },
  rcode: { code: 'wrong-rcode', text: 'the DNS reply code is not the expected one', answers: true },
  answer: { code: 'wrong-answer', text: 'the DNS answers lack what is expected', answers: true },
  forbidden: { code: 'target-forbidden', text: 'the target policy forbids the address' },
  closed: { text: 'the server closes connections without an answer' },
  local: { text: 'the prober itself could not send: its own system refused' },
  canceled: { text: 'the round was canceled' },
};

/** How a sentence counts failures: "8 refused, 7 without an answer in time". */
const shortly: Record<ProbeErrorCode, string> = {
  timeout: 'without an answer in time',
  'connect-timeout': 'with connections not made in time',
  refused: 'refused',
  reset: 'reset',
  unreachable: 'without a route',
  unresolved: 'with the name not resolved',
  tls: 'with a failed TLS handshake',
  protocol: 'answered in another protocol',
  status: 'answered with another HTTP status',
  rcode: 'answered with another DNS reply code',
  answer: 'without the expected DNS answers',
  forbidden: 'forbidden by the target policy',
  closed: 'closed without an answer',
  local: "not sent by the prober's own system",
  canceled: 'canceled',
};
/** Kinds of failures told one by one. */
const maxKinds = 4;

/** Why these observations are bad: the kind of error that dominates or, where none does, all of them by how often they came. */
export function causeOf(all: readonly Observation[]): Cause | undefined {
  const { counts, total } = errorsOf(all);
  if (total === 0) return undefined;
  return dominantOf(all) ?? { text: listed(counts.map(([code, count]) => [shortly[code], count])) };
}

function listed(counts: readonly (readonly [string, number])[]): string {
  const rest = counts.slice(maxKinds).reduce((sum, [, count]) => sum + count, 0);
  return [...counts.slice(0, maxKinds).map(([words, count]) => `${count} ${words}`), ...(rest > 0 ? [`${rest} for other reasons`] : [])].join(', ');
}

/** The most frequent first. */
function errorsOf(all: readonly Observation[]): { counts: [ProbeErrorCode, number][]; total: number } {
  const counts = new Map<ProbeErrorCode, number>();
  let total = 0;
  for (const { result } of all) {
    for (const [code, count] of Object.entries(result.errors) as [ProbeErrorCode, number][]) {
      counts.set(code, (counts.get(code) ?? 0) + count);
      total += count;
    }
  }
  return { counts: [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])), total };
}

/** What the failures of these observations have in common, where one kind of error dominates. */
export function dominantOf(all: readonly Observation[]): Cause | undefined {
  const { counts, total } = errorsOf(all);
  const [top] = counts;
  if (top === undefined || top[1] < total * dominant) return undefined;
  const cause = top[0] === 'refused' ? { ...byError.refused, text: refusal(all) } : byError[top[0]];
  const seen = detail(top[0], all);
  return seen === undefined ? cause : { ...cause, text: `${cause.text} (${seen})` };
}

/** A Service refuses for reasons of its own, and who asks an address may not know that it is one. What is said of the layers of a Service has that already. */
function refusal(all: readonly Observation[]): string {
  const own = all.filter(({ result: { layer } }) => layer === 'url' || layer === 'dns');
  if (own.length === 0) return refusedWords;
  return own.every(({ result: { address } }) => serviceName.test(URL.parse(address)?.host || address))
    ? `${refusedWords}, or the Service has no ready endpoints or no such port`
    : `${refusedWords}, or it is the address of a Service that has no ready endpoints or no such port`;
}
/** `shop.default.svc`, `shop.default.svc.cluster.local`, with a port or not. */
const serviceName = /\.svc(?:[.:]|$)/;

/** What came instead, or what the system said: the most telling single fact. */
function detail(code: ProbeErrorCode, all: readonly Observation[]): string | undefined {
  // Such a message names what was expected, too; the counts alone do not.
  if (code === 'status' || code === 'rcode') {
    const told = all.flatMap((o) => o.result.failures).find((f) => f.code === code)?.message;
    return told ?? most(all.map((o) => (code === 'status' ? o.result.statusCodes : o.result.replyCodes)));
  }
  if (code === 'tls' || code === 'unresolved' || code === 'forbidden' || code === 'answer' || code === 'protocol' || code === 'local') {
    return all.flatMap((o) => o.result.failures).find((f) => f.code === code)?.message;
  }
  return undefined;
}

const most = (counts: Record<string, number>[]): string | undefined => {
  const top = topOf(counts);
  return top === undefined ? undefined : `mostly ${top}`;
};

/** The HTTP status that came most often. */
export const topStatus = (all: readonly Observation[]): string | undefined => topOf(all.map((o) => o.result.statusCodes));

function topOf(counts: Record<string, number>[]): string | undefined {
  const sum = new Map<string, number>();
  for (const one of counts) for (const [key, count] of Object.entries(one)) sum.set(key, (sum.get(key) ?? 0) + count);
  return [...sum].sort((a, b) => b[1] - a[1])[0]?.[0];
}

/** A target that answers but is not good enough: slow, or some requests failing. */
export function impairment(all: readonly Observation[]): { code: 'slow' | undefined; text: string } {
  const bad = all.filter((o) => o.health !== 'good');
  if (bad.every((o) => o.result.failed === 0)) return { code: 'slow', text: 'it answers, but too slowly' };
  const cause = causeOf(bad);
  return { code: undefined, text: cause === undefined ? 'some requests fail' : `some requests fail: ${cause.text}` };
}
