import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { reportBodySchema, type Round, type RoundResult, type TargetResult } from '@roundsman/api';
import { distributionOfUs, roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import type { Pool } from 'pg';
import { closeRound, type CloseRequest, type SilentOutcome } from './close.ts';
import { Ingest } from './ingest.ts';
import { migrateReports } from './migrate.ts';
import { reportPool } from './pool.ts';
import { BadPageToken, openReports, type Reports } from './read.ts';
import { cancelRow, openRounds, pendingRunners, registerRound } from './rounds.ts';
import { markTold, untoldRounds } from './untold.ts';

let server: TestPostgres;
let pool: Pool;
let reports: Reports;
let ingest: Ingest;
const start = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
const nodes = ['node-1', 'node-2', 'node-3'];
const uid = '7b0f7a3e-0000-4000-8000-000000000001';

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
});
afterAll(() => server.stop());
beforeEach(async () => {
  const url = await server.createDatabase();
  pool = reportPool(url, { name: 'test', connections: 4, onError: () => undefined });
  reports = openReports(url);
  ingest = new Ingest(pool, { retentionMs: 30 * 86_400_000 });
});
afterEach(async () => {
  await reports.close();
  await pool.end();
});

interface Change {
  round?: number;
  task?: string;
  uid?: string;
  namespace?: string;
  runners?: readonly { runner: string; node: string; notReady?: string; pod?: string }[];
  trigger?: Round['spec']['trigger'];
  deadlineMs?: number;
  notTested?: string[];
}
const runnersOf = (names: readonly string[]) => names.map((node) => ({ runner: node.replace('node', 'runner'), node }));
function roundObject({ round = 1, task = 'mesh', uid: taskUid = uid, namespace = 'default', runners = runnersOf(nodes), trigger = 'schedule', deadlineMs = 60_000, notTested }: Change = {}): Round {
  return {
    apiVersion: 'roundsman.io/v1',
    kind: 'Round',
    metadata: { name: `netreach-${task}-${taskUid.slice(0, 8)}-${round}`, namespace, uid: `round-${taskUid}-${round}`, resourceVersion: '1', generation: 1, creationTimestamp: start },
    spec: {
      taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace, name: task, uid: taskUid, generation: 1 },
      number: round, startTime: start, deadline: new Date(Date.now() + deadlineMs).toISOString(), taskSpec: { request: { qps: 5 } }, runners: [...runners], trigger,
      ...(notTested === undefined ? {} : { notTested }),
    },
  };
}
const result = (runner: string, targets: readonly TargetResult[], change: Partial<RoundResult> = {}): RoundResult => roundResult(runner, targets, { roundStart: start, ...change });
const good = (runner: string, change: Partial<RoundResult> = {}): RoundResult => result(runner, nodes.map((node) => targetResult(node)), change);
const silent: CloseRequest['silent'] = ({ notReady, received, parts }) => ({ state: 'missing', reason: notReady ?? `silent, ${received} of ${parts}` });
const close = (cause: CloseRequest['cause'], round = 1, taskUid = uid) => closeRound(pool, { taskUid, round, cause, silent });
const bad = (node: string): TargetResult => targetResult(node, { failed: 10, ok: false, reason: 'success rate 0', errors: { refused: 10 }, statusCodes: {}, latency: distributionOfUs([]) });

describe('closing a round', () => {
  it('waits until every expected runner has an outcome, then adds all up', async () => {
    await registerRound(pool, roundObject());
    await ingest.store([good('runner-1'), good('runner-2')]);
    expect(await close('complete')).toBeUndefined();
    expect(await openRounds(pool)).toMatchObject([{ taskUid: uid, round: 1, registered: true, pending: 1, expected: 3 }]);
    // What is in can be seen while the others still run.
    expect((await pool.query('select distinct runner from grafana.targets where task_uid = $1 order by 1', [uid])).rows).toEqual([{ runner: 'runner-1' }, { runner: 'runner-2' }]);
    await ingest.store([good('runner-3')]);
    expect(await close('complete')).toMatchObject({ state: 'succeed', verdict: { state: 'healthy' }, namespace: 'default', task: 'mesh', version: 1 });
    expect(await close('complete')).toBeUndefined();
    expect(await openRounds(pool)).toEqual([]);

    const report = await reports.latest(uid);
    expect(reportBodySchema.parse(report!.status)).toEqual(report!.status);
    expect(report).toMatchObject({
      kind: 'Report', metadata: { name: 'netreach-mesh', namespace: 'default', resourceVersion: '1', labels: { 'roundsman.io/task': 'mesh', 'roundsman.io/round': '1' } }, spec: { request: { qps: 5 } },
      status: {
        state: 'succeed', round: 1, startTime: start, successRate: 1,
        totals: { planned: 90, sent: 90, unsent: 0, succeeded: 90, failed: 0, bytes: 9000, targets: 9, okTargets: 9, runners: { expected: 3, ok: 3, failed: 0, canceled: 0, error: 0, missing: 0 } },
        statusCodes: { '200': 90 }, nodes: { succeeded: nodes, failed: [] }, missing: [], suspect: [], lateResults: 0,
      },
    });
    const { status } = report!;
    expect(status.perRunner).toHaveLength(3);
    expect(status.perTarget).toHaveLength(9);
    expect(status.matrix).toMatchObject({ from: nodes, to: nodes });
    expect(status.matrix!.cells).toHaveLength(9);
    // 1000, 1100 ... 1900 us from each: exact where exact is possible, 1 % where it is not.
    expect(status.latency).toMatchObject({ count: 90, minUs: 1000, maxUs: 1900, meanUs: 1450, meanMs: 1.45 });
    for (const summary of [status.latency!, status.perRunner![0]!.latency!, status.perTarget![0]!.latency!]) {
      expect(Math.abs(summary.p50Us - 1400) / 1400).toBeLessThan(0.0101);
      expect(Math.abs(summary.p99Us - 1900) / 1900).toBeLessThan(0.0101);
    }
    expect(Math.abs(status.matrix!.cells[0]!.p99Us! - 1900) / 1900).toBeLessThan(0.0101);
    expect(status.perTarget![0]).toMatchObject({ phases: { connect: { count: 1, meanUs: 150, maxUs: 150 } }, sendLagP99Us: expect.any(Number) });
  });

  it('records silent runners as missing with the reason, keeps what partly arrived, and is not healthy', async () => {
    await registerRound(pool, roundObject({ runners: [...runnersOf(['node-1', 'node-2', 'node-3']), { runner: 'runner-4', node: 'node-4', notReady: 'draining' }] }));
    const { outcome: _outcome, ...partial } = good('runner-2', { parts: 2 });
    await ingest.store([good('runner-1'), partial]);
    expect(await close('deadline')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' } });
    const { status } = (await reports.latest(uid))!;
    expect(status.missing).toEqual([
      { runner: 'runner-2', node: 'node-2', reason: 'silent, 1 of 2' },
      { runner: 'runner-3', node: 'node-3', reason: 'silent, 0 of 0' },
      { runner: 'runner-4', node: 'node-4', reason: 'draining' },
    ]);
    expect(status.totals).toMatchObject({ planned: 60, targets: 6, runners: { expected: 4, ok: 1, missing: 3 } });
    expect(status.nodes).toEqual({ succeeded: ['node-1'], failed: [] });
    expect(status.perRunner!.map(({ runner, state, targets }) => [runner, state, targets])).toEqual([['runner-1', 'ok', 3], ['runner-2', 'missing', 3], ['runner-3', 'missing', 0], ['runner-4', 'missing', 0]]);
  });

  it('names so many missing runners to others as a message can hold, and how many more there are', async () => {
    await registerRound(pool, roundObject({ runners: runnersOf(Array.from({ length: 600 }, (_, i) => `node-${i}`)) }));
    await closeRound(pool, { taskUid: uid, round: 1, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'x'.repeat(5_000) }) });
    const [untold] = await untoldRounds(pool, 10);
    expect(untold!.nodes.missing).toHaveLength(500);
    expect(untold!.unnamedMissing).toBe(100);
    expect(untold!.nodes.missing[0]!.reason).toHaveLength(201);
    expect((await reports.latest(uid))!.status.missing).toHaveLength(600);
    expect(await untoldRounds(pool, 10, [{ taskUid: uid, round: 1 }])).toEqual([]);
  });

  it('believes the Round object and not the results that came before it', async () => {
    const yesterday = new Date(Date.parse(start) - 86_400_000).toISOString();
    const failing = targetResult('node-1', { failed: 3, ok: false, errors: { timeout: 3 }, failures: [{ at: start, code: 'timeout', message: 'no answer', latencyUs: 1 }] });
    await ingest.store([
      result('runner-1', [failing], { roundStart: yesterday, namespace: 'elsewhere', task: 'other', kind: 'NetDNS' }),
      result('runner-9', [bad('node-1')], { roundStart: yesterday }),
    ]);
    expect(await registerRound(pool, roundObject({ runners: runnersOf(['node-1']) }))).toBe('open');
    expect(await openRounds(pool)).toMatchObject([{ kind: 'NetReach', namespace: 'default', task: 'mesh', name: 'netreach-mesh-7b0f7a3e-1', pending: 0 }]);
    expect(await close('complete')).toMatchObject({ foreign: ['runner-9'], namespace: 'default', kind: 'NetReach' });
    const { status } = (await reports.latest(uid))!;
    expect(status).toMatchObject({ startTime: start, totals: { targets: 1, planned: 10, failed: 3, runners: { expected: 1, failed: 1, ok: 0 } } });
    expect(status.perRunner!.map(({ runner }) => runner)).toEqual(['runner-1']);
    expect((await pool.query('select distinct runner, round_start from report.results')).rows).toEqual([{ runner: 'runner-1', round_start: new Date(start) }]);
    expect((await pool.query('select distinct runner, round_start from report.failures')).rows).toEqual([{ runner: 'runner-1', round_start: new Date(start) }]);
  });

  it('keeps what came for a round whose object was never seen', async () => {
    await ingest.store([good('runner-9')]);
    await cancelRow(pool, uid, 1);
    expect(await close('canceled')).toMatchObject({ foreign: [], state: 'canceled' });
    expect((await reports.latest(uid))!.status.totals).toMatchObject({ planned: 30 });
  });

  it('is told again when its object comes back open', async () => {
    await registerRound(pool, roundObject());
    await close('deadline');
    for (const what of ['status', 'report'] as const) await markTold(pool, uid, 1, what);
    expect(await registerRound(pool, roundObject())).toBe('closed');
    expect(await untoldRounds(pool, 10)).toMatchObject([{ taskUid: uid, round: 1, statusWritten: false, announced: true, registered: true }]);
  });

  it('does not wait for runners that were not ready and so were given no work', async () => {
    const unready = { runner: 'runner-4', node: 'node-4', notReady: 'draining' };
    await registerRound(pool, roundObject({ runners: [...runnersOf(['node-1', 'node-2']), unready] }));
    await ingest.store([good('runner-1')]);
    expect(await openRounds(pool)).toMatchObject([{ pending: 1, expected: 3 }]);
    expect(await pendingRunners(pool, uid, 1)).toEqual(['runner-2']);
    expect(await close('complete')).toBeUndefined();
    await ingest.store([good('runner-2')]);
    expect(await openRounds(pool)).toMatchObject([{ pending: 0, expected: 3 }]);
    expect(await close('complete')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' } });
    expect((await reports.latest(uid))!.status.missing).toEqual([{ runner: 'runner-4', node: 'node-4', reason: 'draining' }]);

    await registerRound(pool, roundObject({ round: 2, runners: [unready] }));
    expect(await openRounds(pool)).toMatchObject([{ round: 2, pending: 0, expected: 1 }]);
    expect(await close('complete', 2)).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' } });
  });

  it('says what is broken, bad targets first', async () => {
    await registerRound(pool, roundObject());
    await ingest.store(['runner-1', 'runner-2', 'runner-3'].map((runner) => result(runner, [targetResult('node-1'), targetResult('node-2'), bad('node-3')])));
    const closed = await close('complete');
    expect(closed).toMatchObject({ state: 'fail', verdict: { state: 'broken', findings: [{ code: 'node-unreachable', subject: 'node node-3' }] } });
    const { status } = (await reports.round('default', 'netreach-mesh-7b0f7a3e-1'))!;
    expect(status.perTarget!.slice(0, 3).map(({ target, ok, errors }) => [target, ok, errors])).toEqual(Array.from({ length: 3 }, () => ['endpoint/v4/node-3', false, { refused: 10 }]));
    expect(status).toMatchObject({ errors: { refused: 30 }, nodes: { succeeded: [], failed: nodes }, summary: closed!.verdict.summary });
    expect(status.matrix!.cells.find(({ from, to }) => from === 'node-1' && to === 'node-3')).toEqual({ from: 'node-1', to: 'node-3', targets: 1, okTargets: 0, planned: 10, succeeded: 0, successRate: 0 });
  });

  it('never calls a starved runner healthy', async () => {
    await registerRound(pool, roundObject({ runners: runnersOf(['node-1']) }));
    const starved = good('runner-1');
    starved.outcome!.starvation = { ...starved.outcome!.starvation, suspect: true, reasons: ['event loop blocked for 80 ms'] };
    await ingest.store([starved]);
    expect(await close('complete')).toMatchObject({ state: 'succeed', verdict: { state: 'suspect' } });
    const { status } = (await reports.latest(uid))!;
    expect(status.suspect).toEqual([{ runner: 'runner-1', node: 'node-1', reasons: ['event loop blocked for 80 ms'] }]);
    expect(status.perRunner![0]!.suspect).toBe(true);
  });

  it('does not call a target slow to which its runner sent late', async () => {
    await registerRound(pool, roundObject({ runners: runnersOf(['node-1']) }));
    const late = targetResult('node-1', { ok: false, reason: 'mean latency 600.000 ms is above 500 ms', latency: distributionOfUs(Array.from({ length: 10 }, () => 600_000)), sendLag: distributionOfUs(Array.from({ length: 10 }, () => 400_000)) });
    await ingest.store([result('runner-1', [late])]);
    expect(await close('complete')).toMatchObject({ verdict: { state: 'suspect', findings: [{ code: 'prober-exhausted', subject: 'runner runner-1' }] } });
  });

  it('calls a runner whose targets were lost an error', async () => {
    await registerRound(pool, roundObject({ runners: runnersOf(['node-1']) }));
    const short = good('runner-1');
    short.outcome!.targetCount = 5;
    await ingest.store([short]);
    expect(await close('complete')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' } });
    expect((await reports.latest(uid))!.status.perRunner![0]).toMatchObject({ state: 'error', reason: '2 of 5 target results are lost' });
  });

  it('compares with the round before', async () => {
    await registerRound(pool, roundObject({ round: 1 }));
    await registerRound(pool, roundObject({ round: 2 }));
    const slow = (node: string): TargetResult => targetResult(node, { latency: distributionOfUs(Array.from({ length: 10 }, () => 4000)) });
    await ingest.store(['runner-1', 'runner-2'].map((runner) => result(runner, [targetResult('node-1'), bad('node-2'), targetResult('gone')])));
    await close('deadline', 1);
    await ingest.store(['runner-1', 'runner-2'].map((runner) => result(runner, [bad('node-1'), slow('node-2'), targetResult('new')], { round: 2 })));
    await close('deadline', 2);
    const { comparison } = (await reports.latest(uid))!.status;
    expect(comparison).toEqual({
      previousRound: 1, successRateDelta: 0, appeared: 2, disappeared: 2, p50DeltaUs: expect.any(Number), p99DeltaUs: expect.any(Number), p99Ratio: expect.any(Number),
      newlyFailing: [{ runner: 'runner-1', target: 'endpoint/v4/node-1', reason: 'success rate 0' }, { runner: 'runner-2', target: 'endpoint/v4/node-1', reason: 'success rate 0' }],
      recovered: [{ runner: 'runner-1', target: 'endpoint/v4/node-2' }, { runner: 'runner-2', target: 'endpoint/v4/node-2' }],
    });
    expect(comparison!.p99DeltaUs!).toBeGreaterThan(2000);
    expect(comparison!.p99Ratio!).toBeCloseTo(4000 / 1900, 1);
    expect((await reports.round('default', 'netreach-mesh-7b0f7a3e-1'))!.status.comparison).toBeUndefined();
  });

  it('counts in a canceled round what was sent, and says in any what broke it off', async () => {
    const cut = (runner: string, round: number, outcome: object) => {
      const result = roundResult(runner, [targetResult('node-1', { planned: 10, sent: 5, unsent: 5, succeeded: 4, failed: 1, ok: false, errors: { canceled: 1 }, reason: 'success rate 0.4 (4 of 10) is below 1' })], { round });
      return { ...result, outcome: { ...result.outcome!, ...outcome } };
    };
    await registerRound(pool, roundObject({ round: 1, runners: runnersOf(['node-1']) }));
    await cancelRow(pool, uid, 1);
    await ingest.store([cut('runner-1', 1, { state: 'canceled', reason: 'the task was deleted' })]);
    expect(await close('canceled', 1)).toMatchObject({ state: 'canceled', verdict: { state: 'incomplete', summary: 'The round was canceled before its end: the task was deleted.' } });
    const { status } = (await reports.latest(uid))!;
    expect([status.successRate, status.perRunner![0]!.successRate, status.perTarget![0]!.successRate, status.matrix!.cells[0]!.successRate]).toEqual([1, 1, 1, 1]);
    expect(status.totals).toMatchObject({ planned: 10, sent: 5, succeeded: 4 });
    const inViews = async (round: number): Promise<(number | null)[]> => {
      const views = ['rounds', 'runners', 'targets', 'matrix'];
      const { rows } = await pool.query<{ rate: number | null }>(views.map((view, i) => `select ${i} as i, success_rate as rate from grafana.${view} where round = ${round}`).join(' union all ') + ' order by i');
      return rows.map(({ rate }) => rate);
    };
    expect(await inViews(1)).toEqual([1, 1, 1, 1]);

    await registerRound(pool, roundObject({ round: 2, runners: runnersOf(['node-1', 'node-2', 'node-3']) }));
    await ingest.store([cut('runner-1', 2, { state: 'error', cut: 'ended', reason: 'the runner was told to end' }), good('runner-2', { round: 2 })]);
    const silent = (): SilentOutcome => ({ state: 'missing', cut: 'ended', reason: 'it was replaced' });
    const closed = await closeRound(pool, { taskUid: uid, round: 2, cause: 'deadline', silent });
    expect(closed!.verdict.findings.map(({ code, subject }) => `${code} ${subject}`)).toEqual(['runner-ended runner runner-1', 'runner-ended runner runner-3']);
    expect((await inViews(2))[1]).toBe(0.4);

    await registerRound(pool, roundObject({ round: 3, runners: runnersOf(['node-1', 'node-2', 'node-3']) }));
    await ingest.store([good('runner-1', { round: 3 }), cut('runner-2', 3, { state: 'error', cut: 'ended', reason: 'it ended while it had this round' }), good('runner-3', { round: 3 })]);
    const end = { at: new Date(), words: 'its container ended with exit code 137 (OOMKilled)' };
    const again = await closeRound(pool, { taskUid: uid, round: 3, cause: 'complete', silent, ends: new Map([['runner-1', end], ['runner-2', end], ['stranger', end]]) });
    expect(again!.verdict.findings.map(({ code, subject }) => `${code} ${subject}`)).toEqual(['runner-restarted runner runner-1', 'runner-ended runner runner-2']);
    expect((await reports.latest(uid))!.status.perRunner!.map(({ reason }) => reason)).toEqual([end.words, `it ended while it had this round; ${end.words}`, undefined]);
  });

  it('excuses nothing of a Service by the ends of a runner that was not ready: it is no part of it', async () => {
    const failing = targetResult('node-1', { target: 'clusterIP/v4', layer: 'clusterIP', planned: 20, sent: 20, succeeded: 15, failed: 5, ok: false, errors: { timeout: 5 }, reason: 'success rate 0.75 (15 of 20) is below 1' });
    const [first, ...rest] = runnersOf(['node-1', 'node-2', 'node-3']);
    await registerRound(pool, roundObject({ runners: [{ ...first!, notReady: 'CrashLoopBackOff' }, ...rest] }));
    for (const runner of ['runner-2', 'runner-3']) await ingest.store([roundResult(runner, [failing])]);
    const closed = await closeRound(pool, { taskUid: uid, round: 1, cause: 'complete', silent: () => ({ state: 'missing', reason: 'it was not ready' }), ends: new Map([['runner-1', { at: new Date(), words: 'its container ended' }]]) });
    expect(closed!.verdict.findings).toMatchObject([{ layer: 'clusterIP' }, { code: 'runner-missing', subject: 'runner runner-1' }]);
  });

  it('closes missed rounds as missed, canceled ones as canceled unless all was done', async () => {
    await registerRound(pool, roundObject({ round: 1, trigger: 'missed' }));
    expect(await close('missed', 1)).toMatchObject({ state: 'missed', verdict: { state: 'incomplete', summary: expect.stringContaining('missed') } });
    expect((await reports.latest(uid))!.status.missing).toHaveLength(3);

    await registerRound(pool, { ...roundObject({ round: 2 }), spec: { ...roundObject({ round: 2 }).spec, cancel: true } });
    await ingest.store([good('runner-1', { round: 2 })]);
    expect((await openRounds(pool))[0]!.canceledMs).toBeGreaterThanOrEqual(0);
    expect(await close('canceled', 2)).toMatchObject({ state: 'canceled' });

    await registerRound(pool, roundObject({ round: 3, runners: runnersOf(['node-1']) }));
    await cancelRow(pool, uid, 3);
    await ingest.store([good('runner-1', { round: 3 })]);
    expect(await close('canceled', 3)).toMatchObject({ state: 'succeed' });
  });

  it('is incomplete by what could not be tested, and lists it', async () => {
    const notTested = ['spec.target.loadBalancer: the Service has no load balancer address'];
    await registerRound(pool, roundObject({ notTested, runners: runnersOf(['node-1']) }));
    await ingest.store([good('runner-1')]);
    expect(await close('complete')).toMatchObject({ state: 'succeed', verdict: { state: 'incomplete', findings: [{ code: 'not-tested', subject: 'spec.target.loadBalancer' }] } });
    expect((await reports.latest(uid))!.status).toMatchObject({ notTested, summary: 'Not tested: spec.target.loadBalancer: the Service has no load balancer address.' });
    // Nothing else was asked for: its runners had nothing to do, and did it well.
    await registerRound(pool, roundObject({ round: 2, notTested, runners: runnersOf(['node-1']) }));
    await ingest.store([result('runner-1', [], { round: 2 })]);
    expect(await close('complete', 2)).toMatchObject({ state: 'fail', verdict: { state: 'incomplete', findings: [{ code: 'not-tested' }] } });
  });

  it('names pods, and why those that were not ready took no part', async () => {
    const why = 'Pod probe-runner-x7 is Pending: 0/3 nodes are available: 3 Insufficient cpu';
    await registerRound(pool, roundObject({ runners: ['a', 'b'].map((pod) => ({ runner: `${pod}.default`, node: '', pod: `default/${pod}`, notReady: why })) }));
    expect(await close('complete')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' } });
    const { status } = (await reports.latest(uid))!;
    expect(status.summary).toBe(`The round measured nothing: none of its 2 runners reported: ${why} (and 2 more).`);
    expect(status.perRunner!.map(({ runner, pod, reason }) => [runner, pod, reason])).toEqual([['a.default', 'default/a', why], ['b.default', 'default/b', why]]);
    const kdoctor = await reports.kdoctor({ uid, kind: 'NetReach', name: 'mesh', creationTimestamp: start, spec: {}, expectedRound: 1, doneRound: 1, finished: true });
    expect(kdoctor!.report.latestRoundReport).toMatchObject([{ podName: 'a', roundResult: 'fail', reasonsForFailure: why }, { podName: 'b' }]);
  });

  it('judges every layer, and keeps the matrix to the runners\' own addresses', async () => {
    await registerRound(pool, roundObject());
    const refused = { failed: 10, ok: false, reason: 'success rate 0', errors: { refused: 10 }, statusCodes: {}, latency: distributionOfUs([]) };
    const targets = (from: string): TargetResult[] => [
      ...nodes.flatMap((node) => [targetResult(node), targetResult(node, { target: `endpoint/v4/${node}/net1`, interface: 'net1', ...(node === 'node-2' ? refused : {}) }), targetResult(node, { target: `nodePort/v4/${node}`, layer: 'nodePort' })]),
      { ...targetResult(from, { target: 'clusterIP/v4', layer: 'clusterIP', ...(from === 'node-3' ? refused : {}) }), targetNode: undefined } as never,
    ];
    await ingest.store(nodes.map((node) => result(node.replace('node', 'runner'), targets(node))));
    expect((await close('complete'))!.verdict).toMatchObject({ state: 'broken', findings: [{ code: 'interface-down', subject: 'interface net1 of node node-2', layer: 'endpoint' }, { code: 'service-forwarding', subject: 'node node-3', layer: 'clusterIP' }] });
    const { status } = (await reports.latest(uid))!;
    expect(status.perTarget!.filter((target) => target.interface === 'net1')).toHaveLength(9);
    expect(status.matrix!.cells.map(({ targets: n, okTargets }) => [n, okTargets])).toEqual(Array.from({ length: 9 }, () => [1, 1]));
  });

  it('says that a round without runners measured nothing', async () => {
    await registerRound(pool, roundObject({ runners: [] }));
    expect(await close('complete')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete', findings: [{ code: 'no-targets' }] } });
  });

  it('gives the same report whatever the order and number of deliveries', async () => {
    const messages = nodes.flatMap((node) => {
      const { outcome, ...whole } = good(node.replace('node', 'runner'), { parts: 3 });
      return whole.targets.map((target, i): RoundResult => ({ ...whole, targets: [target], part: i + 1, ...(i === 2 ? { outcome: outcome! } : {}) }));
    });
    const bodies: unknown[] = [];
    for (const [i, order] of [messages, messages.toReversed(), [...messages.slice(4), ...messages, ...messages.slice(0, 6)]].entries()) {
      const taskUid = `0000000${i}-0000-4000-8000-000000000001`;
      await registerRound(pool, roundObject({ uid: taskUid }));
      for (const message of order) await ingest.store([{ ...message, taskUid }]);
      await close('complete', 1, taskUid);
      const { status } = (await reports.latest(taskUid))!;
      bodies.push({ ...status, taskUid: '', deadline: '', endTime: '', duration: '' });
    }
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
  });
});

describe('reading', () => {
  async function closedRounds(): Promise<void> {
    for (const [task, namespace, taskUid, rounds] of [['a', 'default', 'aaaaaaaa-1', 3], ['b', 'default', 'bbbbbbbb-1', 2], ['a', 'other', 'cccccccc-1', 1]] as const) {
      for (let round = 1; round <= rounds; round++) {
        await registerRound(pool, roundObject({ task, namespace, uid: taskUid, round, runners: runnersOf(['node-1']) }));
        await ingest.store([good('runner-1', { task, namespace, taskUid, round })]);
        await close('complete', round, taskUid);
      }
    }
  }

  it('finds nothing where there is nothing', async () => {
    expect(await reports.latest(uid)).toBeUndefined();
    expect(await reports.round('default', 'netreach-mesh-7b0f7a3e-1')).toBeUndefined();
    expect(await reports.kdoctor({ uid, kind: 'NetReach', name: 'mesh', creationTimestamp: start, spec: {}, expectedRound: 1, doneRound: 0, finished: false })).toBeUndefined();
    expect(await reports.listRounds({})).toEqual({ version: 0, items: [], remaining: 0 });
    expect(await reports.targets(uid, 1, { offset: 0, limit: 10 })).toEqual([]);
    await registerRound(pool, roundObject());
    expect(await reports.latest(uid)).toBeUndefined();
  });

  it('lists the last round of the tasks that exist, in pages', async () => {
    await closedRounds();
    const all = await reports.listLatest(['bbbbbbbb-1', 'aaaaaaaa-1', 'unknown', 'cccccccc-1']);
    expect(all.items.map(({ metadata, status }) => [metadata.namespace, metadata.name, status.round])).toEqual([['default', 'netreach-a', 3], ['default', 'netreach-b', 2], ['other', 'netreach-a', 1]]);
    expect(all).toMatchObject({ version: 6, remaining: 0 });
    expect(all.items[0]!.status.perTarget).toBeUndefined();
    const first = await reports.listLatest(['bbbbbbbb-1', 'aaaaaaaa-1', 'cccccccc-1'], { limit: 2 });
    expect(first).toMatchObject({ remaining: 1, next: expect.any(String) });
    const second = await reports.listLatest(['bbbbbbbb-1', 'aaaaaaaa-1', 'cccccccc-1'], { limit: 2, after: first.next! });
    expect([...first.items, ...second.items]).toEqual(all.items);
    expect(second.next).toBeUndefined();
  });

  it('lists every kept round by namespace, kind, task and round, filtered and in pages', async () => {
    await closedRounds();
    const names = async (filter: Parameters<Reports['listRounds']>[0]) => (await reports.listRounds(filter)).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(await names({})).toEqual(['default/netreach-a-aaaaaaaa-1', 'default/netreach-a-aaaaaaaa-2', 'default/netreach-a-aaaaaaaa-3', 'default/netreach-b-bbbbbbbb-1', 'default/netreach-b-bbbbbbbb-2', 'other/netreach-a-cccccccc-1']);
    expect(await names({ namespace: 'default', task: 'b' })).toHaveLength(2);
    expect(await names({ task: 'a', round: 1 })).toHaveLength(2);
    expect(await names({ taskUid: 'cccccccc-1', state: 'succeed', verdict: 'healthy', kind: 'NetReach', name: 'netreach-a-cccccccc-1' })).toHaveLength(1);
    expect(await names({ kind: 'NetDNS' })).toEqual([]);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await reports.listRounds({}, { limit: 4, ...(after === undefined ? {} : { after }) });
      seen.push(...page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
      expect(page.remaining).toBe(6 - seen.length);
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(await names({}));
    for (const after of ['nonsense', 'WzFd', Buffer.from('["a","b","c","d","e"]').toString('base64url')]) await expect(reports.listRounds({}, { limit: 1, after })).rejects.toThrow(BadPageToken);
  });

  it('hands over what was closed after a version, in order', async () => {
    await closedRounds();
    expect(await reports.version()).toBe(6);
    const first = await reports.changes(0, 4);
    expect(first.changes.map(({ type, version }) => [type, version])).toEqual([['closed', 1], ['closed', 2], ['closed', 3], ['closed', 4]]);
    expect(first.more).toBe(true);
    expect((await reports.changes(4, 4)).changes.map(({ version }) => version)).toEqual([5, 6]);
    expect(await reports.changes(6, 4)).toEqual({ changes: [], more: false });
  });

  it('pages through the targets of a round', async () => {
    await registerRound(pool, roundObject({ runners: runnersOf(['node-1']) }));
    await ingest.store([result('runner-1', [...Array.from({ length: 25 }, (_, i) => targetResult(`node-${String(i).padStart(2, '0')}`)), bad('zzz')])]);
    await close('complete');
    const page = await reports.targets(uid, 1, { offset: 0, limit: 10 });
    expect(page[0]).toMatchObject({ target: 'endpoint/v4/zzz', ok: false });
    const all = [...page, ...(await reports.targets(uid, 1, { offset: 10, limit: 10 })), ...(await reports.targets(uid, 1, { offset: 20, limit: 10 }))];
    expect(new Set(all.map(({ target }) => target)).size).toBe(26);
  });

  it('tells what is still to be told until it is told', async () => {
    await closedRounds();
    const untold = await untoldRounds(pool, 10);
    expect(untold).toHaveLength(6);
    expect(untold[0]).toMatchObject({ taskUid: 'aaaaaaaa-1', round: 1, state: 'succeed', registered: true, totals: { planned: 30, succeeded: 30 }, nodes: { succeeded: ['node-1'], failed: [], missing: [] } });
    await markTold(pool, 'aaaaaaaa-1', 1, 'status');
    expect(await untoldRounds(pool, 10)).toHaveLength(6);
    await markTold(pool, 'aaaaaaaa-1', 1, 'report');
    expect(await untoldRounds(pool, 10)).toHaveLength(5);
  });
});
