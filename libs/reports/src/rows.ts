import type { Distribution, RoundResult, TargetResult } from '@roundsman/api';
import type { CopyRows } from './copy.ts';

/** In the order `writeResult` writes them. */
export const resultColumns = [
  'round_start', 'task_uid', 'round', 'runner', 'target', 'layer', 'address', 'method', 'target_node', 'family', 'started_at', 'ended_at',
  'planned', 'sent', 'unsent', 'succeeded', 'failed', 'bytes', 'ok', 'reason',
  'latency_count', 'latency_sum_us', 'latency_min_us', 'latency_max_us', 'latency_b', 'latency_c',
  'lag_count', 'lag_sum_us', 'lag_min_us', 'lag_max_us', 'lag_b', 'lag_c',
  'phases', 'errors', 'status_codes', 'reply_codes',
] as const;
export const failureColumns = ['round_start', 'task_uid', 'round', 'runner', 'target', 'at', 'code', 'message', 'latency_us'] as const;

/** One row of `report.results`; `roundStart` in milliseconds. The result must have passed `resultProblem`. */
export function writeResult(rows: CopyRows, part: RoundResult, roundStart: number, target: TargetResult): void {
  rows.row(resultColumns.length);
  rows.timestamp(roundStart);
  rows.text(part.taskUid);
  rows.int4(part.round);
  rows.text(part.runner);
  rows.text(target.target);
  rows.text(target.layer);
  rows.text(target.address);
  rows.text(target.method);
  rows.textOrNull(target.targetNode);
  rows.textOrNull(target.family);
  rows.timestamp(Date.parse(target.startedAt));
  rows.timestamp(Date.parse(target.endedAt));
  rows.int4(target.planned);
  rows.int4(target.sent);
  rows.int4(target.unsent);
  rows.int4(target.succeeded);
  rows.int4(target.failed);
  rows.int8(Math.round(target.bytes));
  rows.bool(target.ok);
  rows.textOrNull(target.reason);
  writeDistribution(rows, target.latency);
  writeDistribution(rows, target.sendLag);
  writeCounts(rows, target.phases);
  writeCounts(rows, target.errors);
  writeCounts(rows, target.statusCodes);
  writeCounts(rows, target.replyCodes);
}

function writeDistribution(rows: CopyRows, data: Distribution): void {
  rows.int4(data.count);
  rows.float8(data.sumUs);
  rows.float8(data.minUs);
  rows.float8(data.maxUs);
  rows.int2Array(data.histogram.b);
  rows.int4Array(data.histogram.c);
}

/** Null when there is nothing to count: most targets have no errors. */
function writeCounts(rows: CopyRows, counts: object): void {
  for (const _ in counts) {
    rows.jsonb(JSON.stringify(counts));
    return;
  }
  rows.null();
}

/** Rows of `report.failures`, one per raw failure of the target. */
export function writeFailures(rows: CopyRows, part: RoundResult, roundStart: number, target: TargetResult): void {
  for (const failure of target.failures) {
    rows.row(failureColumns.length);
    rows.timestamp(roundStart);
    rows.text(part.taskUid);
    rows.int4(part.round);
    rows.text(part.runner);
    rows.text(target.target);
    rows.timestamp(Date.parse(failure.at));
    rows.text(failure.code);
    rows.text(failure.message);
    rows.float8(failure.latencyUs);
  }
}
