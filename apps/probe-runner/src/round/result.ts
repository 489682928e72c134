import type { CutCause, RoundResult, Starvation, TargetResult, WorkOrder } from '@roundsman/api';
import type { Measured } from '@roundsman/probes';

export type Outcome = NonNullable<RoundResult['outcome']>;

/** What one round came to on this runner, before it is cut into parts. */
export interface Finished {
  readonly targets: readonly TargetResult[];
  readonly outcome: Outcome;
}

/** Bytes of JSON one part may have; the stream takes at most 1 MiB. */
export const partBytes = 128 << 10;

/**
 * Cuts a result into parts of at most `limit` bytes (a single larger target still makes one part). The last part carries the
 * outcome; a result without targets is one part.
 */
export function partsOf(order: WorkOrder, { targets, outcome }: Finished, limit = partBytes): RoundResult[] {
  const { runner, node, kind, namespace, task, taskUid, round, roundStart } = order;
  const groups: TargetResult[][] = [[]];
  let bytes = 0;
  for (const target of targets) {
    const length = Buffer.byteLength(JSON.stringify(target));
    const group = groups.at(-1)!;
    if (group.length > 0 && bytes + length > limit) {
      groups.push([target]);
      bytes = length;
    } else {
      group.push(target);
      bytes += length;
    }
  }
  return groups.map((group, i) => ({
    runner,
    node,
    kind,
    namespace,
    task,
    taskUid,
    round,
    roundStart,
    part: i + 1,
    parts: groups.length,
    targets: group,
    ...(i === groups.length - 1 ? { outcome } : {}),
  }));
}

/** A round that was not measured, and why. */
export function unmeasured(state: 'error' | 'canceled', reason: string, startedAt: string, runningLoad: Outcome['runningLoad'], cut?: CutCause): Finished {
  return { targets: [], outcome: { state, reason, ...(cut === undefined ? {} : { cut }), startedAt, endedAt: new Date().toISOString(), targetCount: 0, starvation: unknown(), runningLoad } };
}

/** A round that was broken off by what ended its runner or its thread: what was kept of it last. */
export function brokenOff(cut: CutCause, reason: string, { startedAt, at, targets }: Measured, runningLoad: Outcome['runningLoad']): Finished {
  return { targets, outcome: { state: 'error', reason: `${reason}; measured until ${at}`, cut, startedAt, endedAt: at, targetCount: targets.length, starvation: unknown(), runningLoad } };
}

const unknown = (): Starvation => ({ suspect: false, reasons: [], loopDelayP99Ms: 0, cpuShare: 0, rssBytes: process.memoryUsage.rss() });
