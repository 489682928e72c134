import { setTimeout as sleep } from 'node:timers/promises';
import type { DnsTarget, HttpTarget, LiveSample, Materials, ProbeTarget, RequestBudget, Starvation, SuccessCondition, TargetResult, WorkOrder } from '@roundsman/api';
import { DistributionCollector } from '@roundsman/measure';
import { prepareDns } from './dns/probe.ts';
import { ProbeError } from './errors.ts';
import { prepareHttp } from './http/probe.ts';
import { limitsFor, type Limits } from './limits.ts';
import { compilePolicy, type Policy } from '@roundsman/api/policy';
import type { Prepared, Probe } from './probe.ts';
import { rehearse } from './rehearsal.ts';
import { Resolution } from './resolution.ts';
import { pin, type Lookup, type Pinned } from './resolve.ts';
import { dueAt, latestSend, sendAll, type Schedule } from './sending.ts';
import { startStarvationMeter } from './starvation.ts';
import { TargetRun } from './target-run.ts';
import { after, longestTimerMs } from './timer.ts';

/** Every probe kind. Adding one is one folder and one line here. */
export const probes: { http: Probe<HttpTarget>; dns: Probe<DnsTarget> } = { http: prepareHttp, dns: prepareDns };

/** How long the first request waits for the names of a round, milliseconds. */
export const resolveTimeoutMs = 5000;
/** The same where the round has no time to spare: its schedule and the last answer shall end before its deadline. */
const leastResolveMs = 1000;

/** The numbers of a live sample; who runs the round adds whose it is. */
export type RoundProgress = Pick<LiveSample, 'progress' | 'targets' | 'planned' | 'sent' | 'succeeded' | 'failed' | 'p50Us' | 'p99Us' | 'errors'>;

export interface ProbeContext {
  /** Ends the round at once; what was measured so far is the result. */
  signal: AbortSignal;
  /** Absent: link-local addresses are forbidden, everything else is open. */
  policy?: Policy;
  /** Called about once a second while the round runs, and once at its end. */
  onProgress?: (progress: RoundProgress) => void;
  progressIntervalMs?: number;
  /** Called now and then while the round runs; a round of less than `measuredIntervalMs` is not. */
  onMeasured?: (measured: Measured) => void;
  /** Absent: 10 s, longer with so many targets that making it would take more than a hundredth of the time. */
  measuredIntervalMs?: number;
  /** Per target. Absent: what rate and timeout can need, less when the round has many targets. */
  limits?: Partial<Limits>;
  /** When the first request is due, milliseconds since the epoch; absent or past: at once. Getting ready happens before. */
  startAtMs?: number;
  /**
   * When all must have ended, milliseconds since the epoch: as long as they can, requests that the prober held up leave after the end of the schedule.
   * Absent: however long that takes.
   */
  endAtMs?: number;
  /** Absent: as the system resolves names. */
  lookup?: Lookup;
}

/** What a round has measured so far: requests under way are not among those sent. */
export interface Measured {
  startedAt: string;
  at: string;
  targets: TargetResult[];
}

export interface RoundOutcome {
  state: 'ok' | 'failed' | 'canceled';
  /** In words; absent when ok. */
  reason?: string;
  startedAt: string;
  endedAt: string;
  /** In the order of the work order. */
  targets: TargetResult[];
  starvation: Starvation;
}

/** The exact number of requests of a budget: whole ones of `qps * duration`, at least one. */
export function plannedRequests(budget: RequestBudget): number {
  return Math.max(1, Math.floor((budget.qps * budget.durationMs) / 1000 + 1e-9));
}

/**
 * Runs one round: all targets at the same time, each with the whole budget, open loop, evenly spaced, the targets' sends
 * spread over the interval. Whatever is met on the wire is part of the result. Rejects only for wrong set-up (a URL that is
 * none, TLS files that cannot be read, missing materials), before anything is sent.
 */
export async function runRound(order: Pick<WorkOrder, 'targets' | 'request' | 'expect'>, materials: Materials, ctx: ProbeContext): Promise<RoundOutcome> {
  for (const target of order.targets) prepare(target, order.expect, materials);
  const open = compilePolicy({ deny: [] });
  await rehearse(order.targets.map((target) => target.probe), (targets, request) => execute({ targets, request, expect: {} }, {}, { signal: ctx.signal, policy: open, limits: { connections: 4 }, endAtMs: 0 }));
  await untilStart(ctx);
  return execute(order, materials, ctx);
}

/** An abort ends the wait too: the round then says that it was canceled. */
async function untilStart({ startAtMs = 0, signal }: ProbeContext): Promise<void> {
  for (let waitMs = startAtMs - Date.now(); waitMs > 0 && !signal.aborted; waitMs = startAtMs - Date.now()) {
    await sleep(Math.min(waitMs, longestTimerMs), undefined, { signal }).catch(() => {});
  }
}

async function execute(order: Pick<WorkOrder, 'targets' | 'request' | 'expect'>, materials: Materials, ctx: ProbeContext): Promise<RoundOutcome> {
  const budget = order.request;
  const planned = plannedRequests(budget);
  const runs = order.targets.map((target) => {
    const prepared = prepare(target, order.expect, materials);
    return { prepared, run: new TargetRun(target, prepared, planned) };
  });
  const startedAt = performance.now();
  const startedWall = new Date().toISOString();
  const meter = startStarvationMeter();
  const reporting = reportProgress(runs.map(({ run }) => run), planned * runs.length, ctx);
  const stopKeeping = keepMeasured(runs.map(({ run }) => run), order.expect, { startedAt, startedWall }, ctx);
  const cancel = (): void => runs.forEach(({ run }) => run.cancel());
  ctx.signal.addEventListener('abort', cancel, { once: true });
  const { durationMs, timeoutMs } = budget;
  const resolutions = resolutionsOf(runs.map(({ prepared }, i) => ({ prepared, target: order.targets[i]! })), ctx);
  let starvation: Starvation;
  try {
    const spareMs = (ctx.endAtMs ?? Number.POSITIVE_INFINITY) - Date.now() - durationMs - timeoutMs;
    const found = await firstOf(resolutions, Math.min(resolveTimeoutMs, Math.max(leastResolveMs, spareMs)), ctx.signal);
    const start = performance.now();
    const over = ctx.endAtMs === undefined ? Number.POSITIVE_INFINITY : start + ctx.endAtMs - Date.now();
    const schedule: Schedule = { start, durationMs, interval: 1000 / budget.qps, planned, lanes: runs.length, over, timeoutMs };
    const limits = { ...limitsFor(budget, runs.length), ...ctx.limits };
    const ready: TargetRun[] = [];
    runs.forEach(({ run }, i) => {
      const where = found[i]!;
      if (where instanceof ProbeError && where.code !== 'unresolved') {
        run.refuse(where);
        return;
      }
      const lane = ready.push(run) - 1;
      run.begin(resolutions[i]!.lead(run), (slot) => dueAt(schedule, lane, slot), timeoutMs, limits, latestSend(schedule));
    });
    await sendAll(ready, schedule, ctx.signal);
  } finally {
    ctx.signal.removeEventListener('abort', cancel);
    for (const resolution of resolutions) resolution.stop();
    starvation = meter.stop();
    reporting.stop();
    stopKeeping();
  }
  const targets = runs.map(({ run }) => run.result(startedAt, order.expect));
  const bad = targets.filter((target) => !target.ok);
  const ended = { startedAt: startedWall, endedAt: new Date().toISOString(), targets, starvation };
  if (ctx.signal.aborted) return { state: 'canceled', reason: 'the round was canceled', ...ended };
  if (targets.length === 0) return { state: 'failed', reason: 'the round has no target', ...ended };
  if (bad.length === 0) return { state: 'ok', ...ended };
  return { state: 'failed', reason: `${bad.length} of ${targets.length} targets failed; ${bad[0]!.target}: ${bad[0]!.reason}`, ...ended };
}

/** Runs the whole budget against one target. See `runRound`. */
export async function runTarget(target: ProbeTarget, budget: RequestBudget, expect: SuccessCondition, materials: Materials, ctx: ProbeContext): Promise<TargetResult> {
  const outcome = await runRound({ targets: [target], request: budget, expect }, materials, ctx);
  return outcome.targets[0]!;
}

/**
 * As fast as it goes: `inFlight` requests under way all the time, each sent as soon as another ended, so its intended
 * time is the actual one. The same code as a paced round; for benchmarks and capacity tests.
 */
export async function runMaximum(target: ProbeTarget, load: { inFlight: number; durationMs: number; timeoutMs: number }, expect: SuccessCondition, materials: Materials, ctx: ProbeContext): Promise<TargetResult> {
  const prepared = prepare(target, expect, materials);
  const run = new TargetRun(target, prepared, Number.MAX_SAFE_INTEGER);
  const cancel = (): void => run.cancel();
  ctx.signal.addEventListener('abort', cancel, { once: true });
  const [pinned] = await firstOf(resolutionsOf([{ prepared, target }], ctx), resolveTimeoutMs, ctx.signal);
  const startedAt = performance.now();
  if (pinned instanceof ProbeError) throw pinned;
  run.begin(pinned!, () => Number.POSITIVE_INFINITY, load.timeoutMs, { connections: load.inFlight, inFlight: load.inFlight, ...ctx.limits });
  const callOff = after(load.durationMs, () => run.endSending());
  run.due(Number.MAX_SAFE_INTEGER);
  await run.finished();
  callOff();
  ctx.signal.removeEventListener('abort', cancel);
  return run.result(startedAt, expect, run.record.sent);
}

function prepare(target: ProbeTarget, expect: SuccessCondition, materials: Materials): Prepared {
  return target.probe === 'http' ? probes.http(target, expect, materials) : probes.dns(target, expect, materials);
}

/** Of each target; targets of the same host, port and family share one. */
function resolutionsOf(targets: { prepared: Prepared; target: ProbeTarget }[], { policy = compilePolicy(), lookup }: ProbeContext): Resolution[] {
  const known = new Map<string, Resolution>();
  return targets.map(({ prepared: { host, port }, target: { family } }) => {
    const key = `${host} ${port} ${family ?? ''}`;
    const resolution = known.get(key) ?? new Resolution(host, () => pin(host, port, family, policy, lookup));
    known.set(key, resolution);
    return resolution;
  });
}

/** Where each leads; each is looked up once. */
async function firstOf(resolutions: readonly Resolution[], timeoutMs: number, signal: AbortSignal): Promise<(Pinned | ProbeError)[]> {
  const first = new Map([...new Set(resolutions)].map((resolution) => [resolution, resolution.first(timeoutMs, signal)]));
  return Promise.all(resolutions.map((resolution) => first.get(resolution)!));
}

function reportProgress(runs: TargetRun[], planned: number, ctx: ProbeContext): { stop(): void } {
  const { onProgress } = ctx;
  if (onProgress === undefined) return { stop: () => undefined };
  const report = (): void => onProgress(progressOf(runs, planned));
  const timer = setInterval(report, ctx.progressIntervalMs ?? 1000);
  return {
    stop() {
      clearInterval(timer);
      report();
    },
  };
}

/** What one target's result takes to be made and written down, about, and the share of the time that this may take: requests wait meanwhile. */
const measuringMs = 0.1;
const measuringShare = 0.01;

function keepMeasured(runs: TargetRun[], expect: SuccessCondition, { startedAt, startedWall }: { startedAt: number; startedWall: string }, { onMeasured, measuredIntervalMs }: ProbeContext): () => void {
  if (onMeasured === undefined) return () => undefined;
  const interval = measuredIntervalMs ?? Math.max(10_000, (runs.length * measuringMs) / measuringShare);
  const timer = setInterval(() => onMeasured({ startedAt: startedWall, at: new Date().toISOString(), targets: runs.map((run) => run.soFar(startedAt, expect)) }), interval);
  return () => clearInterval(timer);
}

function progressOf(runs: TargetRun[], planned: number): RoundProgress {
  const sum = { sent: 0, succeeded: 0, failed: 0 };
  const latency = new DistributionCollector();
  const errors: RoundProgress['errors'] = {};
  for (const { record } of runs) {
    for (const key of ['sent', 'succeeded', 'failed'] as const) sum[key] += record[key];
    latency.merge(record.latency);
    for (const [code, count] of Object.entries(record.errors) as [keyof typeof errors, number][]) errors[code] = (errors[code] ?? 0) + count;
  }
  const p50Us = latency.quantile(0.5);
  const p99Us = latency.quantile(0.99);
  return {
    progress: planned === 0 ? 1 : Math.min(1, (sum.succeeded + sum.failed) / planned),
    targets: runs.length,
    planned,
    ...sum,
    ...(p50Us === undefined ? {} : { p50Us }),
    ...(p99Us === undefined ? {} : { p99Us }),
    errors,
  };
}
