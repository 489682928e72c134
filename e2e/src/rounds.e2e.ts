import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { taskAnnotations, type AnyTask, type KubeObject, type TaskStatus } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { ControlPlane } from './control-plane.ts';

const netReaches = 'netreaches.roundsman.io';
const netReach = (name: string, spec: Record<string, unknown>, annotations?: Record<string, string>) => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name, namespace: 'default', ...(annotations === undefined ? {} : { annotations }) },
  spec: { request: { durationInSecond: 1, qps: 5 }, ...spec },
});

describe('rounds, from a task to its status', () => {
  let plane: ControlPlane;
  /** Of the events about an object. */
  const reasons = async (name: string): Promise<string[]> =>
    (await plane.list<KubeObject & { involvedObject: { name: string }; reason: string }>('events')).filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason);
  beforeAll(async () => {
    plane = await ControlPlane.start(['runner-1', 'runner-2'], {
      ROUNDSMAN_SCHEDULER_REPUBLISH_MS: '1000',
      ROUNDSMAN_SCHEDULER_LEAD_MS: '2000',
      ROUNDSMAN_SCHEDULER_LATE_MS: '20000',
      ROUNDSMAN_CONTROLLERS_RUNNER_LOST_MS: '4000',
      ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '3000',
    });
  });
  let timer: NodeJS.Timeout | undefined;
  afterAll(async () => {
    clearInterval(timer);
    await plane.stop();
  });
  const status = async (name: string): Promise<TaskStatus> => (await plane.get<AnyTask>(netReaches, name)).status ?? {};
  const condition = (of: TaskStatus, type: string): string | undefined => of.conditions?.find((one) => one.type === type)?.status;

  it('runs the rounds of a task on its grid, on every runner once, and folds them into the status', async () => {
    const task = await plane.create(netReaches, netReach('mesh', { schedule: { intervalSeconds: 3, roundNumber: 3 } }));
    const done = await eventually(
      async () => {
        const found = await status('mesh');
        return found.finish === true ? found : false;
      },
      { within: 60_000 },
    );
    expect(done).toMatchObject({ expectedRound: 3, doneRound: 3, lastRoundStatus: 'succeed', observedGeneration: 1 });
    expect(done.history?.map(({ roundNumber, status: state, succeedAgentNodeList }) => [roundNumber, state, succeedAgentNodeList?.length])).toEqual([[3, 'succeed', 2], [2, 'succeed', 2], [1, 'succeed', 2]]);
    expect(['Scheduled', 'Progressing', 'Complete', 'Healthy', 'Suspended'].map((type) => condition(done, type))).toEqual(['False', 'False', 'True', 'True', 'False']);
    const rounds = await plane.rounds(task.metadata.uid);
    const created = Date.parse(task.metadata.creationTimestamp);
    expect(rounds.map(({ spec }) => Date.parse(spec.startTime) - created)).toEqual([0, 3_000, 6_000]);
    const ran = plane.ran(task.metadata.uid);
    expect(ran.map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-1/3', 'runner-2/1', 'runner-2/2', 'runner-2/3']);
    // Sent ahead: a machine that is busy for a moment may be late with one, not with all.
    expect(ran.some(({ order, takenMs }) => order.round > 1 && takenMs <= Date.parse(order.roundStart))).toBe(true);
    expect(ran[0]?.order.targets.map(({ id }) => id)).toEqual(['endpoint/v4/node-1', 'endpoint/v4/node-2']);
    await eventually(async () => {
      const events = (await plane.list('events')) as unknown as { involvedObject: { name: string }; reason: string; count: number }[];
      expect(Object.fromEntries(events.filter(({ involvedObject }) => involvedObject.name === 'mesh').map(({ reason, count }) => [reason, count]))).toEqual({ RoundStarted: 3, RoundSucceeded: 3 });
    });
    expect(plane.problems()).toEqual([]);
  });

  it('runs one extra round for each new run-now value, also when finished', async () => {
    const task = await plane.create(netReaches, netReach('asked', {}));
    await eventually(async () => (await status('asked')).finish === true, { within: 60_000 });
    for (const value of ['first', 'second']) {
      await plane.edit(netReaches, 'asked', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, [taskAnnotations.runNow]: value }));
      await eventually(async () => expect(await status('asked')).toMatchObject({ finish: true, handledRunNow: value }), { within: 60_000 });
    }
    expect(await status('asked')).toMatchObject({ expectedRound: 3, doneRound: 3 });
    expect((await plane.rounds(task.metadata.uid)).map(({ spec }) => spec.trigger)).toEqual(['schedule', 'run-now', 'run-now']);
  });

  it('starts no round while suspended, and the next one of the grid when resumed', async () => {
    const task = await plane.create(netReaches, netReach('paused', { suspend: true, schedule: { intervalSeconds: 2, roundNumber: 1 } }));
    await eventually(async () => expect(condition(await status('paused'), 'Suspended')).toBe('True'));
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    await plane.edit(netReaches, 'paused', (object: KubeObject) => ((object.spec as { suspend: boolean }).suspend = false));
    await eventually(async () => (await status('paused')).finish === true, { within: 60_000 });
    const [round] = await plane.rounds(task.metadata.uid);
    expect((Date.parse(round?.spec.startTime ?? '') - Date.parse(task.metadata.creationTimestamp)) % 2_000).toBe(0);
    expect(condition(await status('paused'), 'Suspended')).toBe('False');
  });

  it('cancels the open round, and only that one', async () => {
    for (const runner of plane.runners) runner.takesMs = 60_000;
    const task = await plane.create(netReaches, netReach('stopped', { schedule: { intervalSeconds: 60, roundNumber: -1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    await plane.edit(netReaches, 'stopped', ({ metadata }) => (metadata.annotations = { [taskAnnotations.cancel]: 'now' }));
    await eventually(async () => expect(await status('stopped')).toMatchObject({ lastRoundStatus: 'canceled', doneRound: 1, handledCancel: 'now' }));
    expect(plane.ran(task.metadata.uid).map(({ canceled }) => canceled)).toEqual([true, true]);
    for (const runner of plane.runners) runner.takesMs = 50;
    await plane.edit(netReaches, 'stopped', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, [taskAnnotations.runNow]: 'again' }));
    await eventually(async () => expect(await status('stopped')).toMatchObject({ lastRoundStatus: 'succeed', doneRound: 2 }));
    await plane.remove(netReaches, 'stopped');
  });

  it('ends the round of a deleted task and removes what belonged to it', async () => {
    for (const runner of plane.runners) runner.takesMs = 60_000;
    const task = await plane.create(netReaches, netReach('deleted', { schedule: { intervalSeconds: 60, roundNumber: -1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    const told = async (): Promise<string[]> => (await plane.list('events')).map(({ metadata }) => metadata.name).filter((name) => name.startsWith('deleted.roundstarted.'));
    await eventually(async () => expect(await told()).toHaveLength(1));
    await plane.remove(netReaches, 'deleted');
    await eventually(() => expect(plane.ran(task.metadata.uid).map(({ canceled }) => canceled)).toEqual([true, true]));
    for (const runner of plane.runners) runner.takesMs = 50;
    await eventually(async () => expect(await plane.rounds(task.metadata.uid)).toEqual([]));
    // As in Kubernetes, until their time is over.
    expect(await told()).toHaveLength(1);
  });

  it('goes on with an open round after a restart of the scheduler, and repeats nothing', async () => {
    for (const runner of plane.runners) runner.takesMs = 1_500;
    const task = await plane.create(netReaches, netReach('restarted', { schedule: { intervalSeconds: 8, roundNumber: 2 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    await plane.halt('scheduler');
    await plane.run('scheduler');
    await eventually(async () => (await status('restarted')).finish === true, { within: 60_000 });
    for (const runner of plane.runners) runner.takesMs = 50;
    expect(plane.ran(task.metadata.uid).map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-2/1', 'runner-2/2']);
    expect((await plane.rounds(task.metadata.uid)).map(({ spec }) => spec.trigger)).toEqual(['schedule', 'schedule']);
  });

  it('hands materials only to a runner that is expected in the open round', async () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    await plane.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'order' }, data: { item: 'tea' } });
    await plane.create('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls' }, data: { 'ca.crt': base64('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n') } });
    for (const runner of plane.runners) runner.takesMs = 60_000;
    const task = await plane.create('apphttphealthies.roundsman.io', {
      apiVersion: 'roundsman.io/v1', kind: 'AppHttpHealthy', metadata: { name: 'shop' },
      spec: { target: { host: 'https://echo.roundsman-system.svc/', method: 'POST', bodyConfigmapName: 'order', tlsSecretName: 'tls' }, request: { durationInSecond: 1 } },
    });
    const { uid: taskUid } = task.metadata;
    await eventually(() => plane.ran(taskUid).length === 2);
    expect(plane.ran(taskUid).map(({ runner, order }) => [runner, order.needsMaterials, (order.targets[0] as { connect?: unknown }).connect])).toEqual([['runner-1', true, { host: '127.0.0.1', port: 8443 }], ['runner-2', true, { host: '127.0.0.1', port: 8443 }]]);
    const ask = (round: number) => plane.runners[0]!.bus.request(messages.materials, { runner: 'runner-1' }, { taskUid, round });
    const { body, tls } = await ask(1);
    expect([Buffer.from(body ?? '', 'base64').toString(), tls?.ca]).toEqual(['{"item":"tea"}', expect.stringContaining('BEGIN CERTIFICATE')]);
    await expect(ask(2)).rejects.toMatchObject({ code: 503 });
    await plane.edit('apphttphealthies.roundsman.io', 'shop', ({ metadata }) => (metadata.annotations = { [taskAnnotations.cancel]: 'now' }));
    await eventually(async () => expect((await plane.rounds(taskUid))[0]?.status?.state).toBe('canceled'));
    for (const runner of plane.runners) runner.takesMs = 50;
    await eventually(() => expect(ask(1)).rejects.toMatchObject({ code: 410 }));
  });

  it('brings the work again when the NATS store was wiped before a runner took it', async () => {
    await plane.runners[1]?.deafen();
    const task = await plane.create(netReaches, netReach('wiped', { schedule: { intervalSeconds: 60, roundNumber: 1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 1);
    await plane.nats.wipe();
    await plane.runners[1]?.listen();
    await eventually(async () => expect(await status('wiped')).toMatchObject({ finish: true, lastRoundStatus: 'succeed' }), { within: 60_000 });
    expect(plane.ran(task.metadata.uid).map(({ runner }) => runner).sort()).toEqual(['runner-1', 'runner-2']);
    // The other one, too, has to find that what it waited at is gone: the next test has no time for that.
    await plane.edit(netReaches, 'wiped', ({ metadata }) => (metadata.annotations = { [taskAnnotations.runNow]: 'again' }));
    await eventually(() => expect(plane.ran(task.metadata.uid).map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-2/1', 'runner-2/2']), { within: 60_000 });
  });

  it('records a round as missed when nothing could run it, and goes on with the next', async () => {
    const task = await plane.create(netReaches, netReach('missed', { schedule: { intervalSeconds: 8, roundTimeoutSeconds: 4, roundNumber: 3 } }));
    await eventually(async () => expect(await status('missed')).toMatchObject({ doneRound: 1 }));
    await plane.halt('scheduler');
    const created = Date.parse(task.metadata.creationTimestamp);
    await eventually(() => Date.now() > created + 12_000, { every: 100 });
    await plane.run('scheduler', 'scheduler', { ROUNDSMAN_SCHEDULER_LATE_MS: '1500' });
    await eventually(async () => expect(await status('missed')).toMatchObject({ doneRound: 3, lastRoundStatus: 'succeed', finish: true }), { within: 60_000 });
    expect((await status('missed')).history?.map(({ roundNumber, status: state }) => [roundNumber, state])).toEqual([[3, 'succeed'], [2, 'fail'], [1, 'succeed']]);
    const rounds = await plane.rounds(task.metadata.uid);
    expect(rounds.map(({ spec }) => [spec.number, spec.trigger, Date.parse(spec.startTime) - created])).toEqual([[1, 'schedule', 0], [2, 'missed', 8_000], [3, 'schedule', 16_000]]);
    expect(plane.ran(task.metadata.uid).some(({ order }) => order.round === 2)).toBe(false);
    await eventually(async () => (await plane.list('events')).some((event) => event.metadata.name.startsWith('missed.roundmissed.')));
    await plane.halt('scheduler');
    await plane.run('scheduler');
  });

  it('lists a silent runner as missing, and has it back when it is heard again', async () => {
    const [, second] = plane.runners;
    const ready = async (): Promise<boolean | undefined> => ((await plane.get('runners.roundsman.io', 'runner-2', '')).status as { ready?: boolean }).ready;
    second!.silent = true;
    await eventually(async () => expect(await ready()).toBe(false), { within: 60_000 });
    const task = await plane.create(netReaches, netReach('silent', {}));
    await eventually(async () => expect(await status('silent')).toMatchObject({ finish: true, lastRoundStatus: 'fail' }));
    expect((await plane.rounds(task.metadata.uid))[0]?.spec.runners).toEqual([{ runner: 'runner-1', node: 'node-1', addresses: ['127.0.0.1'], ports: { http: 8080 } }, { runner: 'runner-2', node: 'node-2', notReady: expect.stringMatching(/^no heartbeat since 20\d\d-.*Z$/) }]);
    expect((await status('silent')).history?.[0]).toMatchObject({ succeedAgentNodeList: ['node-1'], notReportAgentNodeList: ['node-2'] });
    expect(plane.ran(task.metadata.uid)[0]?.order.targets.map(({ id }) => id)).toEqual(['endpoint/v4/node-1']);
    second!.silent = false;
    await eventually(async () => expect(await ready()).toBe(true));
    await eventually(async () => expect(await reasons('runner-2')).toEqual(expect.arrayContaining(['RunnerLost', 'RunnerReady'])));
  });

  it('waits for a first runner, then runs at once', async () => {
    for (const runner of plane.runners) runner.silent = true;
    await eventually(async () => expect((await plane.list('runners.roundsman.io')).map((object) => (object.status as { ready?: boolean }).ready)).toEqual([false, false]), { within: 60_000 });
    const task = await plane.create(netReaches, netReach('early', {}));
    await eventually(async () => expect((await status('early')).conditions?.find(({ type }) => type === 'Scheduled')).toMatchObject({ status: 'False', reason: 'WaitingForRunner', message: expect.stringMatching(/^Round 1, due at .*, waits for a first ready runner/) }));
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    plane.runners[0]!.silent = false;
    await eventually(() => plane.ran(task.metadata.uid).length === 1);
    plane.runners[1]!.silent = false;
    await eventually(async () => expect((await plane.list('runners.roundsman.io')).map((object) => (object.status as { ready?: boolean }).ready)).toEqual([true, true]));
  });

  it('tells a runner to stop what is closed or belongs to no task', async () => {
    const [first] = plane.runners;
    const task = await plane.create(netReaches, netReach('claimed', {}));
    await eventually(async () => (await status('claimed')).finish === true);
    first!.claims = [{ taskUid: task.metadata.uid, round: 1 }, { taskUid: 'nobody', round: 3 }];
    await eventually(() => expect(first!.stopped).toEqual(expect.arrayContaining([`${task.metadata.uid}/1`, 'nobody/3'])));
    first!.claims = [];
  });

  it('keeps a Node from the heartbeats of its agent, of unknown readiness when they stop', async () => {
    const agent = await plane.nats.connect('agent-node-1');
    const beat = (): void =>
      agent.publish(messages.nodeBeat, { node: 'node-1' }, {
        node: 'node-1', instance: 'i', sentAt: new Date().toISOString(), addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], capacity: { cpu: '2' }, allocatable: { cpu: '2' },
        nodeInfo: { kubeletVersion: 'v0.1.0' }, labels: { 'kubernetes.io/hostname': 'node-1' }, annotations: {}, conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'fine' }],
      });
    const node = () => plane.get('nodes', 'node-1', '');
    const ready = async (): Promise<string | undefined> => ((await node()).status as { conditions: { type: string; status: string }[] }).conditions.find(({ type }) => type === 'Ready')?.status;
    timer = setInterval(beat, 200);
    await eventually(async () => expect(await ready()).toBe('True'));
    await eventually(async () => expect((await node()).spec).toHaveProperty('podCIDRs'));
    const { metadata } = await plane.edit('nodes', 'node-1', (object) => (object.metadata.labels = { ...object.metadata.labels, zone: 'a' }));
    expect(metadata.labels).toEqual({ 'kubernetes.io/hostname': 'node-1', zone: 'a' });
    // What a new node gets comes in several writes; then nothing writes it, however often its agent is heard: five times a second here.
    const versions: string[] = [];
    await eventually(async () => {
      versions.push((await node()).metadata.resourceVersion);
      expect(versions.slice(-8)).toEqual(Array(8).fill(versions.at(-1)));
    }, { every: 500, within: 60_000 });
    expect((await node()).metadata.labels).toMatchObject({ zone: 'a' });
    clearInterval(timer);
    await eventually(async () => expect(await ready()).toBe('Unknown'));
    await eventually(async () =>
      expect(await reasons('node-1')).toEqual(expect.arrayContaining(['RegisteredNode', 'NodeNotReady'])),
    );
  });

  it('keeps the newest ten rounds of a task', async () => {
    const task = await plane.create(netReaches, netReach('long', {}));
    await eventually(async () => (await status('long')).doneRound === 1);
    for (let number = 2; number <= 13; number++) {
      await plane.edit(netReaches, 'long', ({ metadata }) => (metadata.annotations = { [taskAnnotations.runNow]: String(number) }));
      await eventually(async () => (await status('long')).doneRound === number);
    }
    await eventually(async () => expect((await plane.rounds(task.metadata.uid)).map(({ spec }) => spec.number)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]));
    expect(await status('long')).toMatchObject({ expectedRound: 13, doneRound: 13, finish: true });
    expect((await status('long')).history).toHaveLength(10);
  });

  it('has a standby go on when the leader ends, and Postgres come back from a crash', async () => {
    await plane.run('scheduler', 'scheduler-2');
    await plane.run('controllers', 'controllers-2');
    expect(await plane.metric('scheduler-2', 'roundsman_scheduler_leading')).toBe(0);
    const task = await plane.create(netReaches, netReach('handed-over', { schedule: { intervalSeconds: 6, roundNumber: 2 } }));
    await eventually(async () => expect(await status('handed-over')).toMatchObject({ doneRound: 1 }));
    await plane.halt('scheduler');
    await plane.halt('controllers');
    await eventually(async () => expect(await status('handed-over')).toMatchObject({ doneRound: 2, finish: true, lastRoundStatus: 'succeed' }), { within: 60_000 });
    expect(await plane.metric('scheduler-2', 'roundsman_scheduler_leading')).toBe(1);
    await plane.postgres.restart();
    // Its time begins when it is asked for, however long Postgres takes to come back.
    await plane.edit(netReaches, 'handed-over', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, [taskAnnotations.runNow]: 'again' }));
    await eventually(async () => expect(await status('handed-over')).toMatchObject({ doneRound: 3, finish: true, lastRoundStatus: 'succeed' }), { within: 60_000 });
    expect(plane.ran(task.metadata.uid).map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-1/3', 'runner-2/1', 'runner-2/2', 'runner-2/3']);
    await eventually(() => expect(plane.problems()).toEqual([]), { within: 60_000 });
  });
});
