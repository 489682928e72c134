import { phaseNames, type Distribution, type RoundResult, type TargetResult } from '@roundsman/api';
import type { CopyRows } from './copy.ts';
import { quantile } from './quantile.ts';

/** In the order `writeResult` writes them. */
export const resultColumns = [
  'round_start', 'task_uid', 'round', 'runner', 'target', 'layer', 'address', 'method', 'target_node', 'family', 'interface', 'started_at', 'ended_at',
  'planned', 'sent', 'unsent', 'succeeded', 'failed', 'bytes', 'ok', 'reason',
  'latency_count', 'latency_sum_us', 'latency_min_us', 'latency_max_us', 'latency_b', 'latency_c',
  'lag_count', 'lag_sum_us', 'lag_max_us', 'lag_p99_us',
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
  rows.textOrNull(target.interface);
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
  rows.int4(target.sendLag.count);
  rows.float8(target.sendLag.sumUs);
  rows.float8(target.sendLag.maxUs);
  rows.float8(Math.min(target.sendLag.maxUs, quantile(target.sendLag.histogram, 0.99) ?? 0));
  writePhases(rows, target.phases);
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

const phaseValues: number[] = Array.from({ length: phaseNames.length * 3 }, () => 0);
function writePhases(rows: CopyRows, phases: TargetResult['phases']): void {
  let any = false;
  for (let i = 0; i < phaseNames.length; i++) {
    const phase = phases[phaseNames[i]!];
    if (phase !== undefined) any = true;
    phaseValues[i * 3] = phase?.count ?? 0;
    phaseValues[i * 3 + 1] = phase?.sumUs ?? 0;
    phaseValues[i * 3 + 2] = phase?.maxUs ?? 0;
  }
  if (any) rows.float4Array(phaseValues);
  else rows.null();
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
