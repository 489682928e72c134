import type { ProbeErrorCode, TargetResult } from '@roundsman/api';
import { forwardingLayers } from './below.ts';
import type { RunnerOutcome } from './observation.ts';

/** Its echo target went away within the round, or soon may have: a canceled round's runners often go with their task. */
const hasEnded = ({ state, cut, goneAt }: RunnerOutcome): boolean => cut === 'ended' || cut === 'restarted' || goneAt !== undefined || state === 'canceled';

/** What an echo target that is gone makes of requests; `status` is an ingress that does not reach it. Whoever is there and answers slowly or wrongly has another trouble. */
const goneErrors = new Set<ProbeErrorCode>(['timeout', 'connect-timeout', 'refused', 'reset', 'unreachable', 'closed', 'canceled']);
/** This share of the failures makes them the reason why a result is bad. */
const dominant = 0.8;
/** Clocks of nodes differ by less, milliseconds. */
const clockSkewMs = 2_000;

/**
 * What the runners measured, without what accuses nobody: requests that were not sent, or got no answer, because the round was broken off there; and
 * failures at the echo targets of runners that ended meanwhile, also behind a Service. What succeeded stays.
 */
export function withoutCut(runners: readonly RunnerOutcome[]): RunnerOutcome[] {
  const ended = runners.filter(hasEnded);
  const lasting = runners.filter((runner) => !hasEnded(runner) && runner.state !== 'missing');
  return runners.map((runner) => {
    const cut = (runner.cut !== undefined && runner.cut !== 'restarted') || runner.targets.some(({ errors }) => (errors.canceled ?? 0) > 0);
    const sent = cut ? runner.targets.flatMap(ofSent) : runner.targets;
    return { ...runner, targets: ended.length === 0 ? sent : sent.filter((result) => result.ok || !isGone(result, ended, lasting)) };
  });
}

/** As if only that had been planned which was sent, and answered or given up by itself; nothing when that is nothing. */
function ofSent(result: TargetResult): TargetResult[] {
  const canceled = result.errors.canceled ?? 0;
  if (result.ok || (canceled === 0 && result.unsent === 0)) return [result];
  const { canceled: _, ...errors } = result.errors;
  const sent = result.sent - canceled;
  const failed = result.failed - canceled;
  if (sent <= 0) return [];
  const { reason, ...rest } = result;
  return [{ ...rest, planned: sent, sent, unsent: 0, failed, errors, ok: failed === 0, ...(failed === 0 || reason === undefined ? {} : { reason }) }];
}

/** Does a runner that ended explain this bad result? */
function isGone(result: TargetResult, ended: readonly RunnerOutcome[], lasting: readonly RunnerOutcome[]): boolean {
  const { layer, target, targetNode } = result;
  if (layer in forwardingLayers) {
    if (lasting.length > 0) return isPartOfService(result, ended.length / (ended.length + lasting.length));
    // Nothing is left behind it: what a load balancer or an ingress says then is its own choice.
    return result.failed > 0 && !ended.every(({ goneAt }) => failedBefore(result, goneAt));
  }
  if (layer !== 'endpoint' || targetNode === undefined || !looksGone(result)) return false;
  // A target is called after its runner where several share the node.
  const gone = ended.filter(({ node, runner }) => node === targetNode && (!lasting.some((one) => one.node === node) || target.split('/').includes(runner)));
  return gone.some(({ goneAt }) => !failedBefore(result, goneAt));
}

/** Nothing of it ever succeeded, and that began before this time. */
function failedBefore({ succeeded, failures }: TargetResult, at: string | undefined): boolean {
  if (succeeded > 0 || at === undefined) return false;
  return failures.some((failure) => Date.parse(failure.at) + failure.latencyUs / 1000 < Date.parse(at) - clockSkewMs);
}

function looksGone({ layer, failed, errors, statusCodes }: TargetResult): boolean {
  let gone = Object.entries(errors).reduce((sum, [code, count]) => (goneErrors.has(code as ProbeErrorCode) ? sum + count : sum), 0);
  if (layer === 'ingress') for (const code of ['502', '503', '504']) gone += statusCodes[code] ?? 0;
  return failed > 0 && gone >= failed * dominant;
}

/**
 * Are the failures behind a Service no more than the share of its endpoints that ended may make of them? Twice the share, as some requests go to what is left over
 * of an endpoint until that is noticed, and three standard deviations of how often chance leads there (Poisson).
 */
function isPartOfService(result: TargetResult, share: number): boolean {
  const { sent, succeeded, failed } = result;
  return succeeded > 0 && looksGone(result) && failed <= 2 * share * sent + 3 * Math.sqrt(share * sent) + 1;
}
