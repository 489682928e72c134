import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { taskAnnotations, type AnyTask, type KubeObject, type TaskStatus } from '@roundsman/api';
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
  beforeAll(async () => {
    plane = await ControlPlane.start(['runner-1', 'runner-2'], { ROUNDSMAN_SCHEDULER_REPUBLISH_MS: '1000' });
  });
  afterAll(async () => {
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
      { within: 15_000 },
    );
    expect(done).toMatchObject({ expectedRound: 3, doneRound: 3, lastRoundStatus: 'succeed', observedGeneration: 1 });
    expect(done.history?.map(({ roundNumber, status: state, succeedAgentNodeList }) => [roundNumber, state, succeedAgentNodeList?.length])).toEqual([[3, 'succeed', 2], [2, 'succeed', 2], [1, 'succeed', 2]]);
    expect(['Scheduled', 'Progressing', 'Complete', 'Healthy', 'Suspended'].map((type) => condition(done, type))).toEqual(['False', 'False', 'True', 'True', 'False']);
    const rounds = await plane.rounds(task.metadata.uid);
    const created = Date.parse(task.metadata.creationTimestamp);
    expect(rounds.map(({ spec }) => Date.parse(spec.startTime) - created)).toEqual([0, 3_000, 6_000]);
    const ran = plane.ran(task.metadata.uid);
    expect(ran.map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-1/3', 'runner-2/1', 'runner-2/2', 'runner-2/3']);
    for (const { order, startedMs } of ran) if (order.round > 1) expect(startedMs - Date.parse(order.roundStart)).toBeLessThan(200);
    expect(ran[0]?.order.targets.map(({ id }) => id)).toEqual(['endpoint/v4/node-1', 'endpoint/v4/node-2']);
    const events = (await plane.list('events')) as unknown as { involvedObject: { name: string }; reason: string; count: number }[];
    expect(Object.fromEntries(events.filter(({ involvedObject }) => involvedObject.name === 'mesh').map(({ reason, count }) => [reason, count]))).toEqual({ RoundStarted: 3, RoundSucceeded: 3 });
    expect(plane.problems()).toEqual([]);
  });

  it('runs one extra round for each new run-now value, also when finished', async () => {
    const task = await plane.create(netReaches, netReach('asked', {}));
    await eventually(async () => (await status('asked')).finish === true, { within: 10_000 });
    for (const value of ['first', 'second']) {
      await plane.edit(netReaches, 'asked', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, [taskAnnotations.runNow]: value }));
      await eventually(async () => expect(await status('asked')).toMatchObject({ finish: true, handledRunNow: value }), { within: 10_000 });
    }
    expect(await status('asked')).toMatchObject({ expectedRound: 3, doneRound: 3 });
    expect((await plane.rounds(task.metadata.uid)).map(({ spec }) => spec.trigger)).toEqual(['schedule', 'run-now', 'run-now']);
  });

  it('starts no round while suspended, and the next one of the grid when resumed', async () => {
    const task = await plane.create(netReaches, netReach('paused', { suspend: true, schedule: { intervalSeconds: 2, roundNumber: 1 } }));
    await eventually(async () => expect(condition(await status('paused'), 'Suspended')).toBe('True'));
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    await plane.edit(netReaches, 'paused', (object: KubeObject) => ((object.spec as { suspend: boolean }).suspend = false));
    await eventually(async () => (await status('paused')).finish === true, { within: 10_000 });
    const [round] = await plane.rounds(task.metadata.uid);
    expect((Date.parse(round?.spec.startTime ?? '') - Date.parse(task.metadata.creationTimestamp)) % 2_000).toBe(0);
    expect(condition(await status('paused'), 'Suspended')).toBe('False');
  });

  it('cancels the open round, and only that one', async () => {
    for (const runner of plane.runners) runner.takesMs = 60_000;
    const task = await plane.create(netReaches, netReach('stopped', { schedule: { intervalSeconds: 60, roundNumber: -1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    const asked = Date.now();
    await plane.edit(netReaches, 'stopped', ({ metadata }) => (metadata.annotations = { [taskAnnotations.cancel]: 'now' }));
    await eventually(async () => expect(await status('stopped')).toMatchObject({ lastRoundStatus: 'canceled', doneRound: 1, handledCancel: 'now' }));
    expect(plane.ran(task.metadata.uid).map(({ canceled }) => canceled)).toEqual([true, true]);
    expect(Date.now() - asked).toBeLessThan(2_000);
    for (const runner of plane.runners) runner.takesMs = 50;
    await plane.edit(netReaches, 'stopped', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, [taskAnnotations.runNow]: 'again' }));
    await eventually(async () => expect(await status('stopped')).toMatchObject({ lastRoundStatus: 'succeed', doneRound: 2 }));
    await plane.remove(netReaches, 'stopped');
  });

  it('ends the round of a deleted task and removes what belonged to it', async () => {
    for (const runner of plane.runners) runner.takesMs = 60_000;
    const task = await plane.create(netReaches, netReach('deleted', { schedule: { intervalSeconds: 60, roundNumber: -1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    await plane.remove(netReaches, 'deleted');
    await eventually(() => expect(plane.ran(task.metadata.uid).map(({ canceled }) => canceled)).toEqual([true, true]));
    for (const runner of plane.runners) runner.takesMs = 50;
    await eventually(async () => expect(await plane.rounds(task.metadata.uid)).toEqual([]));
    await eventually(async () => expect((await plane.list('events')).filter(({ metadata }) => metadata.name.startsWith('deleted.'))).toEqual([]));
  });

  it('goes on with an open round after a restart of the scheduler, and repeats nothing', async () => {
    for (const runner of plane.runners) runner.takesMs = 3_000;
    const task = await plane.create(netReaches, netReach('restarted', { schedule: { intervalSeconds: 5, roundNumber: 2 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 2);
    await plane.halt('scheduler');
    await plane.run('scheduler');
    await eventually(async () => (await status('restarted')).finish === true, { within: 20_000 });
    for (const runner of plane.runners) runner.takesMs = 50;
    expect(plane.ran(task.metadata.uid).map(({ runner, order }) => `${runner}/${order.round}`).sort()).toEqual(['runner-1/1', 'runner-1/2', 'runner-2/1', 'runner-2/2']);
    expect((await plane.rounds(task.metadata.uid)).map(({ spec }) => spec.trigger)).toEqual(['schedule', 'schedule']);
  });

  it('brings the work again when the NATS store was wiped before a runner took it', async () => {
    await plane.runners[1]?.stop();
    const task = await plane.create(netReaches, netReach('wiped', { schedule: { intervalSeconds: 60, roundNumber: 1 } }));
    await eventually(() => plane.ran(task.metadata.uid).length === 1);
    await plane.nats.wipe();
    await plane.runners[1]?.start();
    await eventually(async () => expect(await status('wiped')).toMatchObject({ finish: true, lastRoundStatus: 'succeed' }), { within: 30_000 });
    expect(plane.ran(task.metadata.uid).map(({ runner }) => runner).sort()).toEqual(['runner-1', 'runner-2']);
  });
});
