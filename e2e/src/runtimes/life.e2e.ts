import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject, Pod, ReportBody } from '@roundsman/api';
import { whenDocker } from '@roundsman/testkit';
import { EchoServers } from './echo-servers.ts';
import { arrivedIn, RuntimeRig } from './rig.ts';

const kind = 'AppHttpHealthy';

whenDocker(describe)('the life of a task and of the runtime that carries it', () => {
  let rig: RuntimeRig;
  let echo: EchoServers;
  beforeAll(async () => {
    rig = await RuntimeRig.start(['one', 'two']);
    echo = await EchoServers.start(rig);
  }, 240_000);
  afterAll(() => rig?.stop());

  /** Requests of `name` that servers counted under it. */
  const counted = async (name: string): Promise<number> => (await echo.counted([name]))[name] ?? 0;
  /** Servers counted under its name what these reports say. */
  const allCounted = async (name: string, reports: readonly ReportBody[]): Promise<void> => {
    const count = await counted(name);
    expect([name, count, reports.map(({ errors }) => errors)]).toEqual([name, arrivedIn(reports, count), expect.anything()]);
  };
  /** Generous about time: what is slow here is the machine. */
  const create = async (name: string, spec: object, request: object = {}): Promise<KubeObject> => {
    const task = { request: { durationInSecond: 1, qps: 10, perRequestTimeoutInMS: 5_000, ...request }, expect: { successRate: 0.1, meanAccessDelayInMs: 5_000 }, target: { host: `http://${echo.address}/?task=${name}` }, ...spec };
    await rig.cluster.apply({ apiVersion: 'roundsman.io/v1', kind, metadata: { name }, spec: task });
    return (await rig.task(kind, name))!;
  };
  const remove = (name: string): Promise<string> => rig.cluster.must(['delete', 'ahh', name, '--wait=false']);
  /** The task is gone, and what was made for it. */
  const gone = (name: string): Promise<unknown> =>
    rig.until(async () => {
      expect(await rig.task(kind, name)).toBeUndefined();
      expect((await rig.made()).filter((one) => one.includes(`-${name}-`))).toEqual([]);
    });
  const annotate = (name: string, value: string): Promise<string> => rig.cluster.must(['annotate', 'ahh', name, `roundsman.io/run-now=${value}`, '--overwrite']);

  it('runs all its rounds, then its runtime goes, and no report with it', async () => {
    await create('many', { agentSpec: { terminationGracePeriodMinutes: 0 }, schedule: { intervalSeconds: 12, roundNumber: 3 } });
    const { resource } = await rig.finished(kind, 'many', 150_000);
    await rig.until(async () => expect((await rig.made()).filter((one) => one.includes('-many-'))).toEqual([]), 60_000);
    const reports = await rig.history(kind, 'many');
    expect(reports.map(({ round, trigger }) => [round, trigger])).toEqual([1, 2, 3].map((round) => [round, 'schedule']));
    await allCounted('many', reports);
    await rig.until(async () => expect((await rig.status(kind, 'many')).resource).toEqual({ runtimeName: resource?.runtimeName, runtimeType: 'DaemonSet', runtimeStatus: 'deleted' }));
    await remove('many');
  }, 240_000);

  it('without end goes on until it is deleted; another of its name knows nothing of it', async () => {
    const first = await create('endless', { schedule: { intervalSeconds: 5, roundNumber: -1 } }, { perRequestTimeoutInMS: 2_000 });
    await rig.until(async () => ((await rig.status(kind, 'endless')).doneRound ?? 0) >= 3, 90_000);
    expect(await rig.status(kind, 'endless')).toMatchObject({ expectedRound: -1, finish: false });
    await remove('endless');
    await gone('endless');
    await rig.until(async () => allCounted('endless', await rig.history(kind, 'endless')));
    const second = await create('endless', {});
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await rig.finished(kind, 'endless');
    expect(await rig.report(kind, 'endless')).toMatchObject({ taskUid: second.metadata.uid, round: 1 });
    // Both are in the history.
    expect(new Set((await rig.history(kind, 'endless')).map(({ taskUid }) => taskUid))).toEqual(new Set([first.metadata.uid, second.metadata.uid]));
    await allCounted('endless', await rig.history(kind, 'endless'));
    await remove('endless');
  });

  it('deleted while it runs stops within 2 s, and what was measured is kept', async () => {
    await create('running', { agentSpec: {}, schedule: { roundTimeoutSeconds: 300 } }, { durationInSecond: 120 });
    await rig.until(async () => (await counted('running')) > 10, 120_000);
    await remove('running');
    const told = performance.now();
    // 2 s, and what a machine adds that is too busy: so many times what one question to the gateway takes at the most meanwhile.
    let longestMs = 0;
    await rig.until(async () => {
      const asked = performance.now();
      await rig.status(kind, 'running');
      longestMs = Math.max(longestMs, performance.now() - asked);
      return performance.now() - told > 2_000 + 20 * longestMs;
    }, 120_000);
    const after = await counted('running');
    await gone('running');
    const [report, ...more] = await rig.history(kind, 'running');
    expect([more, report?.state, report?.totals.runners.canceled]).toEqual([[], 'canceled', 2]);
    await allCounted('running', [report!]);
    expect(await counted('running')).toBe(after);
    expect((await rig.cluster.kubectl(['get', 'report', 'apphttphealthy-running'])).stderr).toContain('not found');
  }, 240_000);

  it('deleted before its first round takes its runtime with it, also in the network of the nodes', async () => {
    await create('ready', { agentSpec: { hostNetwork: true }, schedule: { startAfterSeconds: 3_600, intervalSeconds: 3_600 } });
    await rig.until(async () => expect((await rig.ownRuntime(kind, 'ready'))?.status).toMatchObject({ phase: 'Ready', ready: 2 }), 120_000);
    const pods = await rig.list<Pod>('/api/v1/namespaces/default/pods');
    for (const { metadata, spec } of pods.filter(({ metadata: { name } }) => name.includes('-ready-'))) expect([metadata.name, spec.hostNetwork]).toEqual([metadata.name, true]);
    await remove('ready');
    await gone('ready');
    expect(await rig.history(kind, 'ready')).toEqual([]);
  });

  it('whose runner falls silent closes at its deadline and names it, with the reason', async () => {
    await create('silent', { agentSpec: { terminationGracePeriodMinutes: 60 }, schedule: { roundTimeoutSeconds: 25 } }, { durationInSecond: 10 });
    await rig.until(async () => (await rig.status(kind, 'silent')).history?.[0]?.status === 'ongoing', 120_000);
    const victim = (await rig.list<Pod>('/api/v1/namespaces/default/pods')).find(({ metadata, spec }) => metadata.name.includes('-silent-') && spec.nodeName === 'two')!;
    const id = victim.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '');
    await rig.cluster.docker.request('POST', `/containers/${id}/pause`);
    await rig.finished(kind, 'silent', 120_000);
    const { state, verdict, missing, nodes } = await rig.report(kind, 'silent');
    expect({ state, verdict: verdict.state, nodes }).toEqual({ state: 'fail', verdict: 'incomplete', nodes: { succeeded: ['one'], failed: [] } });
    expect(missing).toEqual([{ node: 'two', runner: `${victim.metadata.name}.default`, reason: expect.stringContaining('no heartbeat since') }]);
    await rig.cluster.docker.request('POST', `/containers/${id}/unpause`);
    await remove('silent');
    await gone('silent');
  }, 240_000);

  it('goes on when any part of the product is killed in the middle of a round', async () => {
    const { cluster } = rig;
    await create('restarts', { agentSpec: {}, schedule: { roundTimeoutSeconds: 60 } }, { durationInSecond: 2 });
    await rig.finished(kind, 'restarts', 120_000);
    const kills: [string, () => Promise<void>][] = [...cluster.controlPlane, 'agent-one'].map((name) => [
      name,
      async () => {
        await cluster.kill([name]);
        cluster.restart([name]);
      },
    ]);
    kills.push(['nats', () => cluster.nats.restart()], ['postgres', () => cluster.postgres.restart()]);
    for (const [index, [name, kill]] of kills.entries()) {
      await rig.until(() => annotate('restarts', name), 60_000);
      const before = await counted('restarts');
      await rig.until(async () => (await counted('restarts')) > before, 60_000);
      await kill();
      await rig.until(async () => expect([name, (await rig.status(kind, 'restarts')).doneRound]).toEqual([name, index + 2]), 120_000);
    }
    const reports = await rig.history(kind, 'restarts');
    expect(reports.map(({ round, missing }) => [round, missing])).toEqual(Array.from({ length: kills.length + 1 }, (_, index) => [index + 1, []]));
    // What a busy machine keeps a runner from sending fails a round.
    expect(reports.map(({ round, state }) => [round, state])).toEqual(reports.map(({ round, totals }) => [round, totals.unsent === 0 ? 'succeed' : 'fail']));
    await allCounted('restarts', reports);
    expect(cluster.dead()).toEqual([]);
    await remove('restarts');
    await gone('restarts');
  }, 600_000);

  it('is carried without the node whose runner cannot be ready, and says so when there is none at all', async () => {
    const { cluster } = rig;
    await cluster.change('controllers', { ROUNDSMAN_CONTROLLERS_RUNTIME_WAIT_MS: '30000' });
    // The agents have two processors each.
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'filler' }, spec: { nodeName: 'two', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.35', command: ['sleep', '3600'], resources: { requests: { cpu: '1500m' } } }] } });
    await cluster.must(['wait', '--for=condition=Ready', 'pod/filler', '--timeout=60s']);
    const nowhere = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'no-node-has-this', operator: 'Exists' }] }] } } };
    await create('unready', { agentSpec: { resources: { requests: { cpu: '800m' } } } });
    await create('nowhere', { agentSpec: { affinity: nowhere } });
    await create('unplaced', { agentSpec: { kind: 'Deployment', affinity: nowhere } });
    const condition = async (name: string): Promise<string | undefined> => (await rig.status(kind, name)).conditions?.find(({ type, status }) => type === 'RuntimeReady' && status === 'False')?.message;
    await rig.until(async () => expect(await condition('unplaced')).toContain("didn't match Pod's node affinity/selector"));
    for (const name of ['unready', 'nowhere', 'unplaced']) await rig.finished(kind, name, 120_000);
    expect(await condition('unready')).toContain('1 of 2 runners are ready. Node two: Unschedulable: 0/2 nodes are available: 1 Insufficient cpu');
    expect(await condition('nowhere')).toBe('No node fits spec.agentSpec.affinity, so there is no runner.');
    const unready = await rig.report(kind, 'unready');
    expect(unready).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' }, nodes: { succeeded: ['one'] }, missing: [{ node: 'two', reason: expect.stringContaining('Insufficient cpu') }] });
    await allCounted('unready', [unready]);
    expect(await rig.report(kind, 'unplaced')).toMatchObject({ state: 'fail', missing: [{ reason: expect.stringContaining('it was not ready when the round started: Unschedulable') }] });
    expect(await rig.report(kind, 'nowhere')).toMatchObject({ state: 'fail', verdict: { state: 'incomplete' }, notTested: [expect.stringContaining('No node fits spec.agentSpec.affinity')] });
    expect([await counted('nowhere'), await counted('unplaced')]).toEqual([0, 0]);
  }, 240_000);
});
