import type { TargetResult } from '@roundsman/api';
import { forwardingLayers } from './below.ts';
import type { RunnerOutcome } from './observation.ts';

/** Its echo target went away within the round, or soon may have: a canceled round's runners often go with their task. */
const hasEnded = ({ state, cut }: RunnerOutcome): boolean => cut === 'ended' || state === 'canceled';

/**
 * What the runners measured, without what accuses nobody: requests that were not sent, or got no answer, because the round was broken off there; and
 * failures at the echo targets of runners that ended meanwhile, also behind a Service. What succeeded stays.
 */
export function withoutCut(runners: readonly RunnerOutcome[]): RunnerOutcome[] {
  const ended = runners.filter(hasEnded);
  const lasting = runners.filter((runner) => !hasEnded(runner) && runner.state !== 'missing');
  return runners.map((runner) => {
    const cut = runner.cut !== undefined || runner.targets.some(({ errors }) => (errors.canceled ?? 0) > 0);
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

/** Does a runner that ended explain this bad result? One behind a Service is a part of it, as long as others last. */
function isGone({ layer, target, targetNode, succeeded }: TargetResult, ended: readonly RunnerOutcome[], lasting: readonly RunnerOutcome[]): boolean {
  if (layer in forwardingLayers) return succeeded > 0 || lasting.length === 0;
  if (layer !== 'endpoint' || targetNode === undefined) return false;
  const gone = ended.filter(({ node }) => node === targetNode);
  // A target is called after its runner where several share the node.
  return gone.length > 0 && (!lasting.some(({ node }) => node === targetNode) || gone.some(({ runner }) => target.split('/').includes(runner)));
}
