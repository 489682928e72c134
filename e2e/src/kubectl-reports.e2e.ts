import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { apiVersionOf, roundObjectName, type KubeObject, type LiveSample, type Round } from '@roundsman/api';
import { ensureStreams, messages, type Bus } from '@roundsman/bus';
import { closeRound, Ingest, registerRound, reportPool, type ReportPool } from '@roundsman/reports';
import { eventually, roundResult, targetResult } from '@roundsman/testkit';
import { parse } from 'yaml';
import { KubectlCluster } from './kubectl-cluster.ts';
import { watching, type Watching } from './kubectl-watching.ts';

let cluster: KubectlCluster;
let pool: ReportPool;
let reporter: Bus;
let runner: Bus;
const open: ClientRequest[] = [];

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  pool = reportPool(cluster.databaseUrl, { name: 'test', connections: 2, onError: () => undefined });
  await ensureStreams(await cluster.nats.connect('scheduler'));
  reporter = await cluster.nats.connect('reporter');
  runner = await cluster.nats.connect('runner-runner-1');
}, 120_000);
afterAll(async () => {
  await pool?.end();
  await cluster?.stop();
});
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

const make = async (kind: string, name: string, spec: unknown): Promise<KubeObject> =>
  JSON.parse(await cluster.must(['create', '-f', '-', '-o', 'json'], { input: JSON.stringify({ apiVersion: apiVersionOf({ group: 'roundsman.io', version: 'v1' }), kind, metadata: { name }, spec }) })) as KubeObject;

/** A round as the reporter leaves it: one runner that succeeded, one that stayed silent, closed, and told. */
async function closed(task: KubeObject, number: number): Promise<void> {
  const start = new Date(Date.now() - 60_000 + number * 1000).toISOString();
  const taskRef = { kind: task.kind as 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: task.metadata.name, uid: task.metadata.uid, generation: 1 };
  const spec: Round['spec'] = {
    taskRef,
    number,
    startTime: start,
    deadline: new Date(Date.parse(start) + 30_000).toISOString(),
    taskSpec: task.spec as Record<string, unknown>,
    runners: [{ runner: 'runner-1', node: 'node-1' }, { runner: 'runner-2', node: 'node-2' }],
    trigger: 'schedule',
  };
  const name = roundObjectName(taskRef.kind, taskRef.name, taskRef.uid, number);
  await registerRound(pool, { apiVersion: 'roundsman.io/v1', kind: 'Round', metadata: { name, namespace: 'default', uid: name, resourceVersion: '1', generation: 1, creationTimestamp: start }, spec });
  await new Ingest(pool, { retentionMs: 86_400_000 }).store([roundResult('runner-1', [targetResult('node-2')], { kind: taskRef.kind, task: taskRef.name, taskUid: taskRef.uid, round: number, roundStart: start })]);
  const done = await closeRound(pool, { taskUid: taskRef.uid, round: number, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'no heartbeat' }) });
  if (done === undefined) throw new Error('the round was not closed');
  await reporter.append(
    messages.report,
    { kind: taskRef.kind, namespace: 'default', task: taskRef.name },
    {
      kind: taskRef.kind, namespace: 'default', task: taskRef.name, taskUid: taskRef.uid, round: number, roundStart: start, closedAt: new Date().toISOString(), state: 'fail',
      verdict: { state: 'incomplete', summary: 'node-2 is silent' },
      totals: { planned: 10, sent: 10, succeeded: 10, failed: 0, unsent: 0 },
      nodes: { succeeded: ['node-1'], failed: [], missing: [{ node: 'node-2', runner: 'runner-2', reason: 'no heartbeat' }] },
    },
    { msgId: `${taskRef.uid}:${number}` },
  );
}

describe('reports', () => {
  it('get, list, select, describe, history, kdoctor’s form; gone with their task', async () => {
    const task = await make('NetReach', 'mesh', { schedule: { intervalSeconds: 60, roundNumber: 3 } });
    expect((await cluster.kubectl(['get', 'report', 'netreach-mesh'])).stderr).toMatch(/reports\.roundsman\.io "netreach-mesh" not found/);
    await closed(task, 1);
    await closed(task, 2);
    expect(await cluster.must(['get', 'reports'])).toMatch(/^NAME +KIND +TASK +ROUND +STATE +VERDICT[^]*\nnetreach-mesh +NetReach +mesh +2 +fail/);
    expect(await cluster.must(['get', 'reports', '-o', 'wide'])).toMatch(/MISSING[^]*netreach-mesh/);
    const whole = parse(await cluster.must(['get', 'report', 'netreach-mesh', '-o', 'yaml'])) as { status: { round: number; missing: unknown; perTarget: unknown[]; perRunner: unknown[] } };
    expect(whole.status).toMatchObject({ round: 2, missing: [{ runner: 'runner-2', reason: 'no heartbeat' }] });
    expect(whole.status.perTarget).toHaveLength(1);
    const short = task.metadata.uid.slice(0, 8);
    expect(await cluster.must(['get', 'roundreports', '-o', 'name'])).toBe(`roundreport.roundsman.io/netreach-mesh-${short}-1\nroundreport.roundsman.io/netreach-mesh-${short}-2\n`);
    expect(await cluster.must(['get', 'rr', '--chunk-size=1', '-l', 'roundsman.io/task=mesh,roundsman.io/round=2', '-o', 'name'])).toBe(`roundreport.roundsman.io/netreach-mesh-${short}-2\n`);
    expect(await cluster.must(['describe', 'report', 'netreach-mesh'])).toMatch(/Round: +2/);
    const kdoctor = await cluster.http('/apis/system.kdoctor.io/v1beta1/namespaces/whatever/kdoctorreports/netreach-mesh');
    expect(kdoctor.json).toMatchObject({ kind: 'KdoctorReport', metadata: { name: 'netreach-mesh' }, status: { roundNumber: 2 }, task: { name: 'mesh', kind: 'NetReach' } });
    expect(await cluster.must(['get', 'kdoctorreports', '-A'])).toMatch(/netreach-mesh +2 +fail/);
    expect((await cluster.http('/apis/system.kdoctor.io/v1beta1/namespaces/x/kdoctorreports/netdns-mesh')).status).toBe(404);
    const refused = await cluster.kubectl(['delete', 'report', 'netreach-mesh']);
    expect(refused.stderr).toMatch(/MethodNotAllowed/);

    await cluster.must(['delete', 'nr', 'mesh']);
    expect(await cluster.must(['get', 'reports'])).toBe('');
    expect(await cluster.must(['get', 'rr', '-o', 'name'])).toMatch(/-1\n.*-2\n/);
    const again = await make('NetReach', 'mesh', {});
    expect((await cluster.kubectl(['get', 'report', 'netreach-mesh'])).stderr).toMatch(/not found/);
    await closed(again, 1);
    expect(await cluster.must(['get', 'report', 'netreach-mesh', '-o', 'jsonpath={.status.taskUid}'])).toBe(again.metadata.uid);
    await cluster.must(['delete', 'nr', 'mesh']);
  });

  it('get -w shows each as it closes, and that it went with its task', async () => {
    const task = await make('NetReach', 'seen', {});
    const watch = (kind: string): Promise<Watching> => watching(cluster, ['get', kind, '-w', '-l', 'roundsman.io/task=seen', '--output-watch-events', '--no-headers']);
    const [rounds, latest] = [await watch('rr'), await watch('reports')];
    const types = ({ stdout }: Watching): string[] => stdout().trim().split('\n').map((line) => line.split(/\s+/)[0] as string);
    await closed(task, 1);
    await closed(task, 2);
    await eventually(() => expect(types(rounds)).toEqual(['ADDED', 'ADDED']));
    await eventually(() => expect(types(latest)[0]).toBe('ADDED'));
    await cluster.must(['delete', 'nr', 'seen']);
    await eventually(() => expect(types(latest).at(-1)).toBe('DELETED'));
    expect(types(latest)[0]).toBe('ADDED');
    expect(types(rounds)).toEqual(['ADDED', 'ADDED']);
    for (const one of [rounds, latest]) await one.stop();
  });
});

describe('live', () => {
  interface Stream {
    readonly events: { id: string; event: string; data: Record<string, unknown> }[];
    readonly comments: string[];
  }
  const follow = (path: string, lastEventId?: string): Promise<Stream> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${cluster.token}`, accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
      const asked = request(new URL(path, cluster.url), { headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode}`));
        const stream: Stream = { events: [], comments: [] };
        let rest = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const blocks = (rest + chunk).split('\n\n');
          rest = blocks.pop() as string;
          for (const block of blocks) {
            const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
            if (fields.has('data')) stream.events.push({ id: fields.get('id') as string, event: fields.get('event') as string, data: JSON.parse(fields.get('data') as string) as Record<string, unknown> });
            else stream.comments.push(block);
          }
        });
        response.on('error', () => undefined);
        return resolve(stream);
      });
      asked.on('error', reject).end();
      open.push(asked);
    });
  const sample = (task: KubeObject, progress: number): void => {
    const payload: LiveSample = {
      at: new Date().toISOString(), runner: 'runner-1', node: 'node-1', kind: 'NetReach', namespace: 'default', task: task.metadata.name, taskUid: task.metadata.uid, round: 1,
      phase: 'running', progress, targets: 1, planned: 10, sent: 5, succeeded: 5, failed: 0, errors: {},
    };
    runner.publish(messages.live, { kind: 'NetReach', namespace: 'default', task: task.metadata.name, node: 'node-1' }, payload);
  };
  const path = (name: string): string => `/apis/roundsman.io/v1/namespaces/default/netreaches/${name}/live`;

  it('streams samples and reports of one task, or of all, and goes on where a client left', async () => {
    const task = await make('NetReach', 'live.one', {});
    const other = await make('NetReach', 'live-two', {});
    const one = await follow(path('live.one'));
    const all = await follow('/apis/roundsman.io/v1/live');
    for (const progress of [0.1, 0.2, 0.3]) sample(task, progress);
    sample(other, 0.5);
    await eventually(() => expect(one.events.map(({ data }) => data['progress'])).toEqual([0.1, 0.2, 0.3]));
    await eventually(() => expect(all.events.map(({ data }) => data['task']).filter((name) => name === 'live.one' || name === 'live-two')).toEqual(['live.one', 'live.one', 'live.one', 'live-two']));
    await closed(task, 1);
    await eventually(() => expect(one.events.at(-1)).toMatchObject({ event: 'report', data: { task: 'live.one', round: 1, state: 'fail' } }));
    const fresh = await follow(path('live.one'));
    const resumed = await follow(path('live.one'), one.events[1]?.id);
    await eventually(() => expect(resumed.events.map(({ id }) => id)).toEqual(one.events.slice(2).map(({ id }) => id)));
    const foreign = await follow(path('live.one'), 'another-start-7');
    await eventually(() => expect(foreign.events).toHaveLength(4));
    sample(task, 0.9);
    await eventually(() => expect(fresh.events.map(({ data }) => data['progress'])).toEqual([0.9]));
  });

  it('of a task that is not there is 404', async () => {
    await expect(follow(path('nobody'))).rejects.toThrow('answered 404');
  });
});
