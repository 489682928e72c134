import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { roundObjectName, type ReportObject, type Round, type RoundResult, type Runtime, type TargetResult } from '@roundsman/api';
import { messages, ServiceError, type Bus } from '@roundsman/bus';
import { closeRound, Ingest, migrateReports, openReports, registerRound, reportPool, type ReportPool, type Reports } from '@roundsman/reports';
import { makeLogger, runServices, type RunningServices } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { eventually, roundResult, startNats, startPostgres, targetResult, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { FakeIntake } from './testing/fake-intake.ts';
import { service } from './index.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
let server: TestPostgres;
let nats: TestNats;
let url: string;
let pool: ReportPool;
let reports: Reports;
let bus: Bus;
let intake: FakeIntake;
let reporter: RunningServices;
let tasks = 0;
const announced: string[] = [];
const deadLetters: string[] = [];

const startReporter = (): Promise<RunningServices> =>
  runServices([{ definition: service }], {
    env: { ROUNDSMAN_REPORTER_MAINTENANCE_MS: '1000' },
    log: makeLogger({ level: process.env['TEST_LOG'] ?? 'fatal', format: 'pretty' }),
    databaseUrl: url,
    connect: (identity) => nats.connect(identity),
  });

beforeAll(async () => {
  [server, nats] = await Promise.all([
    startPostgres({
      prepare: async (template) => {
        await migrateStore(template);
        await migrateReports(template);
      },
    }),
    startNats(),
  ]);
  url = await server.createDatabase();
  pool = reportPool(url, { name: 'test', connections: 2, onError: () => undefined });
  reports = openReports(url);
  bus = await nats.connect('test');
  intake = new FakeIntake(bus, url);
  await intake.start();
  reporter = await startReporter();
  await bus.replay(messages.report, {}, { afterSeq: 0 }, ({ payload }) => void announced.push(`${payload.taskUid}/${payload.round}`));
  await bus.replay(messages.dlq, {}, { afterSeq: 0 }, ({ payload }) => void deadLetters.push(`${payload.reason}: ${payload.message}`));
  await eventually(() => reporter.health.report().ready);
});
afterAll(async () => {
  await reporter?.stop();
  await intake?.close();
  await reports?.close();
  await pool?.end();
  await nats?.stop();
  await server?.stop();
});

interface Task {
  uid: string;
  name: string;
}
const newTask = (): Task => ({ uid: crypto.randomUUID(), name: `task-${(tasks += 1)}` });
const nameOf = (task: Task, round = 1): string => roundObjectName('NetReach', task.name, task.uid, round);

async function makeRound(task: Task, change: Partial<Round['spec']> & { deadlineMs?: number } = {}): Promise<Round> {
  const { deadlineMs = 120_000, ...spec } = change;
  const number = spec.number ?? 1;
  return intake.create({
    apiVersion: 'roundsman.io/v1',
    kind: 'Round',
    metadata: { name: nameOf(task, number), namespace: 'default' },
    spec: {
      taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: task.name, uid: task.uid, generation: 1 },
      number, startTime: new Date().toISOString(), deadline: new Date(Date.now() + deadlineMs).toISOString(), taskSpec: {},
      runners: nodes.map((node) => ({ runner: node.replace('node', 'runner'), node })), trigger: 'schedule', ...spec,
    },
  });
}

function resultOf(round: Round, runner: string, targets: readonly TargetResult[] = nodes.map((node) => targetResult(node)), change: Partial<RoundResult> = {}): RoundResult {
  const { taskRef, number, startTime } = round.spec;
  return roundResult(runner, targets, { taskUid: taskRef.uid, task: taskRef.name, round: number, roundStart: startTime, ...change });
}
let sent = 0;
async function send(result: RoundResult, msgId = `${(sent += 1)}`): Promise<void> {
  const { runner, kind, taskUid, round } = result;
  await bus.append(messages.result, { runner, kind, taskUid, round }, result, { msgId });
}
const beat = (runner: string, change: { ready?: boolean; reason?: string; running?: { taskUid: string; round: number }[]; instance?: string; pod?: string; node?: string } = {}): void =>
  bus.publish(messages.runnerBeat, { node: change.node ?? runner.replace('runner', 'node'), runner }, {
    runner, node: runner.replace('runner', 'node'), runtime: 'default', instance: 'i', sentAt: new Date().toISOString(), version: '0.1.0', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1000, ...change,
  });
const closedRound = (task: Task, round = 1, within = 30_000): Promise<ReportObject> => eventually<ReportObject | false>(async () => (await reports.round('default', nameOf(task, round))) ?? false, { within });
const told = (task: Task, round = 1, within = 30_000): Promise<NonNullable<Round['status']>> =>
  eventually<NonNullable<Round['status']> | false>(() => {
    const status = intake.get('default', nameOf(task, round))?.status;
    return status !== undefined && announced.includes(`${task.uid}/${round}`) && status;
  }, { within });
const partsOf = (result: RoundResult): RoundResult[] => {
  const { outcome, ...whole } = result;
  return whole.targets.map((target, i, { length }) => ({ ...whole, targets: [target], part: i + 1, parts: length, ...(i === length - 1 ? { outcome: outcome! } : {}) }));
};
const metric = async (name: string): Promise<number> => Number(new RegExp(`^${name.replaceAll(/[{}"]/g, String.raw`\$&`)} (\\d+)`, 'm').exec(await reporter.metrics.metrics())?.[1] ?? 0);

describe('the reporter', () => {
  it('closes a round when all have reported, writes its status and announces it', async () => {
    const task = newTask();
    const round = await makeRound(task);
    for (const runner of ['runner-1', 'runner-2', 'runner-3']) await send(resultOf(round, runner));
    expect(await told(task)).toMatchObject({ state: 'succeed', verdict: 'healthy', succeeded: nodes, failed: [], missing: [], summary: expect.any(String), closedAt: expect.any(String) });
    expect((await reports.latest(task.uid))!.status).toMatchObject({ state: 'succeed', totals: { planned: 90, succeeded: 90, targets: 9 } });
    expect(await bus.request(messages.committed, { runner: 'runner-1' }, { rounds: [{ taskUid: task.uid, round: 1 }, { taskUid: task.uid, round: 2 }] })).toEqual({ committed: [{ taskUid: task.uid, round: 1 }] });
    await eventually(async () => (await pool.query('select from report.rounds where task_uid = $1 and status_written and announced', [task.uid])).rowCount === 1);
  });

  it('takes results that come before their Round object', async () => {
    const task = newTask();
    const later = await makeRound(newTask());
    const spec = { ...later.spec, taskRef: { ...later.spec.taskRef, uid: task.uid, name: task.name } };
    await send(resultOf({ ...later, spec }, 'runner-1'));
    await eventually(async () => (await pool.query('select from report.rounds where task_uid = $1 and not registered', [task.uid])).rowCount === 1);
    await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }], startTime: spec.startTime });
    expect(await told(task)).toMatchObject({ state: 'succeed' });
  });

  it('gives the same report when every message comes again, in another order, under another id', async () => {
    const task = newTask();
    const round = await makeRound(task);
    const parts = ['runner-1', 'runner-2', 'runner-3'].flatMap((runner) => partsOf(resultOf(round, runner)));
    for (const part of parts.toReversed()) await send(part);
    const first = await closedRound(task);
    const duplicates = await metric('roundsman_reporter_results_total{outcome="duplicate"}');
    for (const part of [...parts, ...parts.toReversed()]) await send(part);
    await eventually(async () => (await metric('roundsman_reporter_results_total{outcome="duplicate"}')) >= duplicates + 18);
    expect(await reports.round('default', nameOf(task))).toEqual(first);
  });

  it('drops and counts results after the close', async () => {
    const task = newTask();
    const round = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    await send(resultOf(round, 'runner-1'));
    await closedRound(task);
    await send(resultOf(round, 'runner-2'));
    await eventually(async () => (await reports.latest(task.uid))!.status.lateResults === 1);
    expect((await reports.latest(task.uid))!.status.totals.targets).toBe(3);
  });

  it('puts away what it cannot use and goes on with the rest', async () => {
    const task = newTask();
    const round = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    const good = resultOf(round, 'runner-1');
    const at = { runner: 'runner-1', kind: 'NetReach', taskUid: task.uid, round: 1 };
    const before = deadLetters.length;
    await bus.append(messages.result, at, { ...good, targets: [{ ...good.targets[0], planned: -1 }] } as never, { msgId: 'poison-1' });
    await bus.append(messages.result, at, { ...good, runner: 'runner-9' }, { msgId: 'poison-2' });
    await bus.append(messages.result, at, { ...good, roundStart: '2999-01-01T00:00:00Z' }, { msgId: 'poison-3' });
    await send(good);
    expect(await told(task)).toMatchObject({ state: 'succeed' });
    await eventually(() => deadLetters.length === before + 3);
    expect(deadLetters.slice(before)).toEqual(
      expect.arrayContaining([expect.stringContaining('planned, sent, unsent, succeeded and failed are not all counts'), expect.stringMatching(/^identity: .*runner-9/), expect.stringMatching(/^future: .*2999/)]),
    );
  });

  it('ends a canceled round after the grace, with what was measured', async () => {
    const task = newTask();
    const round = await makeRound(task);
    await send(resultOf(round, 'runner-1'));
    const beats = (): void => {
      beat('runner-2', { running: [{ taskUid: task.uid, round: 1 }] });
      beat('runner-3');
    };
    beats();
    // How long it takes until the round is closed nobody knows; they are not to be taken for silent.
    const beating = setInterval(beats, 500);
    try {
      await intake.update({ ...round, spec: { ...round.spec, cancel: true } });
      expect(await told(task)).toMatchObject({ state: 'canceled' });
    } finally {
      clearInterval(beating);
    }
    const { status } = (await reports.latest(task.uid))!;
    expect(status.totals).toMatchObject({ planned: 30, runners: { ok: 1, canceled: 1, missing: 1 } });
    expect(status.perRunner!.map(({ state, reason }) => [state, reason])).toEqual([['ok', undefined], ['missing', 'it did not stop in time when the round was canceled'], ['canceled', 'canceled before it began']]);
  });

  it('counts what canceled runners had measured, and closes as soon as they said so', async () => {
    // As it goes for a running task that is deleted: it stays until its rounds are closed.
    const task = newTask();
    const round = await makeRound(task);
    await intake.update({ ...round, spec: { ...round.spec, cancel: true } });
    for (const runner of ['runner-1', 'runner-2', 'runner-3']) {
      const half = resultOf(round, runner, [targetResult('node-1', { planned: 10, sent: 4, unsent: 6, succeeded: 4, ok: false, reason: 'canceled' })]);
      await send({ ...half, outcome: { ...half.outcome!, state: 'canceled', reason: 'the task was deleted' } });
    }
    expect(await told(task)).toMatchObject({ state: 'canceled', verdict: 'incomplete' });
    expect((await reports.latest(task.uid))!.status.totals).toMatchObject({ planned: 30, sent: 12, succeeded: 12, unsent: 18, runners: { canceled: 3, missing: 0 } });
  });

  it('closes a round at once of which no runner was ready, and says why', async () => {
    const task = newTask();
    const why = 'its pod is Pending: 0/3 nodes are available: 3 Insufficient memory';
    await makeRound(task, { runners: ['a', 'b', 'c'].map((pod) => ({ runner: `${pod}.default`, node: '', pod, notReady: why })) });
    const status = await told(task);
    expect(status).toMatchObject({ state: 'fail', verdict: 'incomplete', summary: `The round measured nothing: none of its 3 runners reported: it was not ready when the round started: ${why} (and 3 more).` });
    expect(status.missing).toEqual(['a', 'b', 'c'].map((pod) => ({ runner: `${pod}.default`, node: '', reason: `it was not ready when the round started: ${why}` })));
  });

  it('never shows the reports of a task to another one of its name; history has both', async () => {
    const old = newTask();
    const recreated: Task = { uid: crypto.randomUUID(), name: old.name };
    const runners = [{ runner: 'runner-1', node: 'node-1' }];
    const first = await makeRound(old, { runners });
    await send(resultOf(first, 'runner-1'));
    await closedRound(old);
    await intake.remove(first);
    const second = await makeRound(recreated, { runners });
    expect(await reports.latest(recreated.uid)).toBeUndefined();
    // Late, from the time of the old one: counted there.
    await send(resultOf(first, 'runner-2'));
    await send(resultOf(second, 'runner-1'));
    await closedRound(recreated);
    await eventually(async () => (await reports.latest(old.uid))!.status.lateResults === 1);
    expect((await reports.latest(recreated.uid))!.status).toMatchObject({ taskUid: recreated.uid, lateResults: 0, totals: { planned: 30 } });
    expect((await reports.listRounds({ task: old.name })).items.map(({ status }) => status.taskUid).sort()).toEqual([old.uid, recreated.uid].sort());
  });

  it('says what is committed from Postgres alone, and takes it again when a Postgres took over that lacks it', async () => {
    const task = newTask();
    const round = await makeRound(task);
    const committed = async (): Promise<number> => (await bus.request(messages.committed, { runner: 'runner-1' }, { rounds: [{ taskUid: task.uid, round: 1, endedAt: new Date().toISOString() }] })).committed.length;
    await send(resultOf(round, 'runner-1'));
    await eventually(async () => (await committed()) === 1);
    await pool.query('delete from report.results where task_uid = $1', [task.uid]);
    await pool.query('delete from report.rounds where task_uid = $1', [task.uid]);
    expect(await committed()).toBe(0);
    for (const runner of ['runner-1', 'runner-2', 'runner-3']) await send(resultOf(round, runner));
    await eventually(async () => (await committed()) === 1);
    // Nobody is woken for the round itself: it is looked up after a while.
    expect((await closedRound(task)).status).toMatchObject({ state: 'succeed', totals: { planned: 90, runners: { expected: 3, ok: 3 } } });
  });

  it('removes what is too old, tells how much, and leaves the rest of the history', async () => {
    const task = newTask();
    const days = 86_400_000;
    const kept = new Ingest(pool, { retentionMs: 1000 * days });
    const removed = await metric('roundsman_reporter_retired_total{what="rounds"}');
    for (const [number, age] of [[1, 40], [2, 20]] as const) {
      await kept.store([roundResult('runner-1', [targetResult('node-1')], { taskUid: task.uid, task: task.name, round: number, roundStart: new Date(Date.now() - age * days).toISOString() })]);
      await closeRound(pool, { taskUid: task.uid, round: number, cause: 'canceled', silent: () => ({ state: 'missing', reason: 'silent' }) });
    }
    await eventually(async () => (await metric('roundsman_reporter_retired_total{what="rounds"}')) > removed);
    expect((await reports.listRounds({ task: task.name })).items.map(({ status }) => status.round)).toEqual([2]);
    expect(await metric('roundsman_reporter_retired_total{what="bytes"}')).toBeGreaterThan(0);
    expect(await metric('roundsman_reporter_results_bytes')).toBeGreaterThan(0);
  });

  it('goes on in the middle of a round after a restart: parts that were in count once, the rest comes from the stream', async () => {
    const task = newTask();
    const round = await makeRound(task);
    const [first, ...rest] = partsOf(resultOf(round, 'runner-2'));
    await send(resultOf(round, 'runner-1'));
    await send(first!);
    await eventually(async () => (await pool.query('select from report.parts where task_uid = $1 and runner = $2', [task.uid, 'runner-2'])).rowCount === 1);
    await reporter.stop();
    for (const part of [first!, ...rest]) await send(part);
    await send(resultOf(round, 'runner-3'));
    const meanwhile = newTask();
    await makeRound(meanwhile, { runners: [{ runner: 'runner-1', node: 'node-1', notReady: 'gone' }] });
    reporter = await startReporter();
    expect(await told(task)).toMatchObject({ state: 'succeed', verdict: 'healthy' });
    expect((await reports.latest(task.uid))!.status.totals).toMatchObject({ planned: 90, succeeded: 90, targets: 9 });
    expect(await told(meanwhile)).toMatchObject({ state: 'fail', missing: [{ reason: 'it was not ready when the round started: gone' }] });
  });

  it('keeps what was measured when the task is deleted with its rounds', async () => {
    const task = newTask();
    const round = await makeRound(task);
    await send(resultOf(round, 'runner-1'));
    await eventually(async () => (await pool.query('select from report.rounds where task_uid = $1 and registered', [task.uid])).rowCount === 1);
    await intake.remove(round);
    expect((await closedRound(task)).status).toMatchObject({ state: 'canceled', totals: { planned: 30 } });
    await eventually(() => announced.includes(`${task.uid}/1`));
  });

  it('records a missed round at once', async () => {
    const task = newTask();
    await makeRound(task, { trigger: 'missed' });
    expect(await told(task)).toMatchObject({ state: 'missed', missing: [expect.objectContaining({ reason: 'the time of the round passed while nothing could run it' }), expect.anything(), expect.anything()] });
  });

  it('closes at the deadline and says of each silent runner why', async () => {
    // Right after its start it waits longer, for what a predecessor may have left in the stream.
    const task = newTask();
    const deadlineMs = 12_000;
    const runners = ['runner-1', 'unready', 'unheard', 'idle', 'busy', 'lost', 'partial', 'draining', 'killed', 'replaced', 'oom', 'again', 'early'].map((runner) => ({ runner, node: runner, ...(runner === 'unready' ? { notReady: 'draining since yesterday' } : {}) }));
    // Restarted after the start of the round, and before its Round object was seen.
    const startTime = new Date(Date.now() - 5_000).toISOString();
    for (const instance of ['i', 'next']) beat('early', { instance });
    // The next one follows at once: nobody is waited for.
    const round = await makeRound(task, { startTime, deadlineMs, runners, taskSpec: { schedule: { intervalSeconds: deadlineMs / 1_000 + 5 } } });
    const running = [{ taskUid: task.uid, round: 1 }];
    const unhurried = newTask();
    const lasting = await makeRound(unhurried, { deadlineMs, runners: [{ runner: 'late', node: 'late' }] });
    await send(resultOf(round, 'runner-1'));
    const { outcome: _outcome, ...partial } = resultOf(round, 'partial');
    await send({ ...partial, parts: 4 });
    beat('lost', { running });
    beat('killed', { pod: 'shop/killed' });
    beat('replaced');
    beat('oom', { running });
    beat('again', { running });
    const ended = { at: new Date().toISOString(), reason: 'exit code 137 (OOMKilled)' };
    await intake.putRuntime({
      apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name: 'default', namespace: 'shop', uid: crypto.randomUUID(), resourceVersion: '', generation: 1, creationTimestamp: ended.at },
      spec: { kind: 'DaemonSet', families: ['v4'], ingress: false },
      status: { phase: 'Ready', desired: 2, ready: 2, paths: { services: [] }, conditions: [], runners: [{ runner: 'oom', node: 'oom', ready: true, ended }, { runner: 'runner-1', node: 'runner-1', ready: true, ended }, { runner: 'idle', node: 'idle', ready: true, ended: { ...ended, at: new Date(Date.now() - 60_000).toISOString() } }] },
    } as Runtime);
    const beating = setInterval(() => {
      beat('idle');
      beat('busy', { running });
      beat('late', { running: [{ taskUid: unhurried.uid, round: 1 }] });
      beat('partial');
      beat('lost');
      beat('draining', { ready: false, reason: 'shutting down' });
      beat('killed', { instance: 'next', pod: 'shop/killed' });
      beat('again', { instance: 'next', running });
      beat('successor', { node: 'replaced' });
      beat('early', { instance: 'next' });
    }, 500);
    try {
      const status = await told(task, 1, deadlineMs + 30_000);
      expect(status.state).toBe('fail');
      const lateMs = Date.parse(status.closedAt!) - Date.parse(round.spec.deadline);
      expect(lateMs).toBeGreaterThanOrEqual(0);
      // Open rounds are looked at four times a second; the rest is the machine's.
      expect(lateMs).toBeLessThan(15_000);
      const reasons = Object.fromEntries(status.missing!.map(({ runner, reason }) => [runner, reason]));
      expect(reasons).toEqual({
        unready: 'it was not ready when the round started: draining since yesterday',
        unheard: expect.stringMatching(/^no heartbeat from it for at least \d+ s$/),
        idle: 'it is alive but never picked up the work',
        busy: 'it was still running at the deadline',
        lost: expect.stringMatching(/^it ran the round until .*, but its result did not arrive/),
        partial: 'only 1 of 4 parts of its result arrived',
        killed: expect.stringMatching(/^its process ended \(kubectl describe pod -n shop killed tells why\); the next one was first heard at \S+$/),
        replaced: expect.stringMatching(/^it was replaced by successor, and not heard since 20/),
        draining: 'it never picked up the work; at the deadline it was not ready: shutting down',
        again: expect.stringMatching(/^its process ended \(its agent logs why\); the next one was first heard at \S+ and was still running at the deadline$/),
        early: expect.stringMatching(/^its process ended \(its agent logs why\); the next one was first heard at \S+$/),
        oom: expect.stringMatching(new RegExp(String.raw`^its container ended at ${ended.at} with exit code 137 \(OOMKilled\); give the task an agentSpec with a resources\.limits\.memory above 1Gi; no heartbeat since .*$`)),
      });
      expect((await reports.latest(task.uid))!.status.perRunner).toHaveLength(13);
      expect(status.verdict).toBe('incomplete');
      expect((await reports.latest(task.uid))!.status.verdict.findings.filter(({ code }) => code === 'runner-ended' || code === 'runner-restarted').map(({ code, subject }) => `${code} ${subject}`)).toEqual(['runner-ended runner again', 'runner-ended runner early', 'runner-ended runner killed', 'runner-ended runner oom', 'runner-ended runner replaced', 'runner-restarted runner runner-1']);
      const waited = await told(unhurried);
      expect(waited.missing).toEqual([{ runner: 'late', node: 'late', reason: 'it was still running at the deadline' }]);
      expect(Date.parse(waited.closedAt!) - Date.parse(lasting.spec.deadline)).toBeGreaterThanOrEqual(5_000);
    } finally {
      clearInterval(beating);
    }
  });

  it('tells later when nobody could be told, also the next instance', async () => {
    const task = newTask();
    const round = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    await intake.stop();
    await send(resultOf(round, 'runner-1'));
    await closedRound(task);
    await reporter.stop();
    expect(intake.get('default', nameOf(task))!.status).toBeUndefined();
    await intake.start();
    reporter = await startReporter();
    expect(await told(task)).toMatchObject({ state: 'succeed' });
    expect(announced.filter((key) => key === `${task.uid}/1`)).toHaveLength(1);
  });

  it('tells of rounds behind sixty that nobody takes, and gives up those that nobody ever will', async () => {
    const ingest = new Ingest(pool, { retentionMs: 30 * 86_400_000 });
    const closeBy = async (uid: string, change: Partial<RoundResult>): Promise<void> => {
      await ingest.store([roundResult('runner-1', [targetResult('node-1')], { taskUid: uid, round: 1, roundStart: new Date().toISOString(), ...change })]);
      await closeRound(pool, { taskUid: uid, round: 1, cause: 'canceled', silent: () => ({ state: 'missing', reason: 'silent' }) });
    };
    await reporter.stop();
    const never = crypto.randomUUID();
    await closeBy(never, { namespace: 'no subject can hold this' });
    const bad: Round[] = [];
    for (let i = 0; i < 60; i++) {
      const task = newTask();
      const round = await makeRound(task);
      bad.push(round);
      await registerRound(pool, round);
      await closeBy(task.uid, { task: task.name });
    }
    const refused = await makeRound(newTask());
    await registerRound(pool, refused);
    await closeBy(refused.spec.taskRef.uid, { task: refused.spec.taskRef.name });
    const names = new Set(bad.map(({ metadata }) => metadata.name));
    intake.refuse = (name) => (names.has(name) ? new ServiceError(500, 'not today') : name === refused.metadata.name ? new ServiceError(422, 'not ever') : undefined);
    reporter = await startReporter();
    const task = newTask();
    const good = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    await send(resultOf(good, 'runner-1'));
    expect(await told(task)).toMatchObject({ state: 'succeed' });
    const toldOf = async (uid: string): Promise<boolean> => (await pool.query('select from report.rounds where task_uid = $1 and status_written and announced', [uid])).rowCount === 1;
    await eventually(async () => (await toldOf(never)) && (await toldOf(refused.spec.taskRef.uid)));
    expect(await metric('roundsman_reporter_untellable_total{what="report"}')).toBe(1);
    expect(await metric('roundsman_reporter_untellable_total{what="status"}')).toBeGreaterThan(0);
    expect(await toldOf(bad[0]!.spec.taskRef.uid)).toBe(false);
    intake.refuse = () => undefined;
    // They are tried again after about as long as they were refused.
    await eventually(async () => (await pool.query('select from report.rounds where closed_at is not null and not (status_written and announced)')).rowCount === 0, { within: 90_000 });
  });

  it('tells briefly what cannot be told whole: nobody waits for ever for the end of a round', async () => {
    const task = newTask();
    const round = await makeRound(task);
    intake.refuse = (name, { missing }) => (name === round.metadata.name && missing !== undefined ? new ServiceError(413, 'too large') : undefined);
    for (const runner of ['runner-1', 'runner-2', 'runner-3']) await send(resultOf(round, runner));
    expect(await told(task)).toEqual({ state: 'succeed', verdict: 'healthy', closedAt: expect.any(String) });
    intake.refuse = () => undefined;
  });

  it('tells a Round object whose number was given again how its round was closed', async () => {
    const task = newTask();
    const round = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    await send(resultOf(round, 'runner-1'));
    expect(await told(task)).toMatchObject({ state: 'succeed' });
    await intake.remove(round);
    await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    expect(await told(task)).toMatchObject({ state: 'succeed' });
  });

  it('drops and counts what runners say of rounds that were not given to them', async () => {
    const task = newTask();
    const round = await makeRound(task, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    const before = await metric('roundsman_reporter_results_total{outcome="foreign"}');
    await send(resultOf(round, 'runner-2'));
    await eventually(async () => (await pool.query('select from report.runner_rounds where task_uid = $1 and runner = $2 and state is not null', [task.uid, 'runner-2'])).rowCount === 1);
    await send(resultOf(round, 'runner-1'));
    await closedRound(task);
    expect((await reports.latest(task.uid))!.status).toMatchObject({ totals: { targets: 3, planned: 30 } });
    await eventually(async () => (await metric('roundsman_reporter_results_total{outcome="foreign"}')) === before + 1);
  });

  it('believes nobody about a round that was given to nobody, and keeps what was measured of one that came and went while no reporter was there', async () => {
    await reporter.stop();
    const [lasting, early] = [newTask(), newTask()];
    const round = await makeRound(lasting);
    for (const runner of ['runner-1', 'stranger']) await send(resultOf(round, runner));
    await intake.remove(round);
    await send(roundResult('runner-9', [targetResult('node-1')], { taskUid: early.uid, task: early.name, namespace: 'default', round: 1, roundStart: new Date().toISOString() }));
    reporter = await startReporter();
    expect((await closedRound(lasting, 1, 60_000)).status).toMatchObject({ state: 'canceled', totals: { planned: 30, runners: { expected: 3, ok: 1 } } });
    await eventually(async () => expect(await metric('roundsman_reporter_results_total{outcome="foreign"}')).toBe(2), { within: 30_000 });
    for (const table of ['rounds', 'runner_rounds', 'parts', 'results']) expect([table, (await pool.query(`select from report.${table} where task_uid = $1`, [early.uid])).rowCount]).toEqual([table, 0]);
    // Made later it runs as if nothing had been said.
    const made = await makeRound(early, { runners: [{ runner: 'runner-1', node: 'node-1' }] });
    await send(resultOf(made, 'runner-1'));
    expect(await told(early)).toMatchObject({ state: 'succeed', verdict: 'healthy' });
  });

  it('counts no result as missing that waited through an outage longer than its round, in the stream or with an instance that is gone', async () => {
    await reporter.stop();
    const past = { startTime: new Date(Date.now() - 40_000).toISOString(), deadlineMs: -20_000 };
    const lasting = newTask();
    const canceled = newTask();
    for (const [task, change] of [[lasting, {}], [canceled, { cancel: true }]] as const) {
      const round = await makeRound(task, { ...past, ...change });
      for (const runner of ['runner-1', 'runner-2', 'runner-3']) await send(resultOf(round, runner));
    }
    // Delivered to an instance that never answers: they come again only after its ack wait.
    let held = 0;
    const gone = await bus.consume(messages.result, { durable: 'reporter', ackWaitMs: 8_000, maxDeliver: 1_000_000, maxAckPending: 500, batch: 6, batchMs: 500, create: true }, (batch) => {
      held += batch.length;
      return Promise.resolve();
    });
    await eventually(() => held === 6);
    const silent = newTask();
    await makeRound(silent, past);
    await gone.stop();
    reporter = await startReporter();
    for (const task of [lasting, canceled]) expect((await closedRound(task, 1, 60_000)).status).toMatchObject({ state: 'succeed', totals: { planned: 90, runners: { ok: 3, missing: 0 } } });
    const { missing } = (await closedRound(silent, 1, 60_000)).status;
    expect(missing).toHaveLength(3);
    for (const { reason } of missing) expect(reason).toMatch(/no heartbeat/);
    expect(missing.some(({ reason }) => / 0 s/.test(reason))).toBe(false);
  });

  it('shares the work between instances; when the leader goes, the other closes', async () => {
    const other = await startReporter();
    const rounds: { task: Task; round: Round }[] = [];
    for (let i = 0; i < 12; i++) {
      const task = newTask();
      rounds.push({ task, round: await makeRound(task) });
    }
    for (const [i, { round }] of rounds.entries()) {
      if (i === 6) await reporter.stop();
      for (const runner of ['runner-1', 'runner-2', 'runner-3']) await send(resultOf(round, runner));
    }
    reporter = other;
    for (const { task } of rounds) expect(await told(task)).toMatchObject({ state: 'succeed' });
    for (const { task } of rounds) expect(announced.filter((key) => key === `${task.uid}/1`)).toHaveLength(1);
  });

  it('loses nothing when Postgres is killed under load, and puts nothing away', async () => {
    const before = deadLetters.length;
    const task = newTask();
    const many = Array.from({ length: 200 }, (_, i) => ({ runner: `runner-${i}`, node: `node-${i}` }));
    const round = await makeRound(task, { runners: many });
    const killed = (async () => {
      await eventually(async () => (await pool.query('select count(*)::int as n from report.parts where task_uid = $1', [task.uid])).rows[0].n > 20, { every: 5 });
      await server.kill();
    })();
    for (const { runner } of many) await send(resultOf(round, runner));
    await killed;
    await eventually(() => !reporter.health.report().ready);
    await server.restart();
    expect(await told(task, 1, 40_000)).toMatchObject({ state: 'succeed' });
    expect((await reports.latest(task.uid))!.status.totals).toMatchObject({ planned: 6000, targets: 600, runners: { ok: 200 } });
    expect(deadLetters).toHaveLength(before);
    await eventually(() => reporter.health.report().ready);
  });

  it('goes on after NATS was killed and its store wiped: runners send again, nothing counts twice', async () => {
    const task = newTask();
    const round = await makeRound(task);
    await send(resultOf(round, 'runner-1'));
    await eventually(async () => (await pool.query('select from report.runner_rounds where task_uid = $1 and state is not null', [task.uid])).rowCount === 1);
    await nats.wipe();
    await eventually(() => bus.health().connected);
    for (const runner of ['runner-1', 'runner-2', 'runner-3']) await eventually(() => send(resultOf(round, runner)).then(() => true), { every: 100 });
    await eventually(() => intake.get('default', nameOf(task))?.status ?? false, { within: 60_000 });
    expect((await reports.latest(task.uid))!.status).toMatchObject({ state: 'succeed', totals: { planned: 90, targets: 9 } });
  });
});
