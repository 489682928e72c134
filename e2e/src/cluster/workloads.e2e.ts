import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CronJob, Job, Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { age, SmallCluster, steady } from './small-cluster.ts';

const image = 'busybox:1.35';
const templateOf = (app: string, text: string) => ({
  metadata: { labels: { app } },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image, command: ['sh', '-c', `echo ${text} > /tmp/index.html; exec httpd -f -p 8080 -h /tmp`], readinessProbe: { tcpSocket: { port: 8080 }, ...steady } }] },
});

/** Workloads besides deployments, on Docker, as kubectl drives them. */
whenDocker(describe)('workloads of a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two'], { later: ['three'] });
  });
  afterAll(() => cluster?.stop());
  // Whatever a workload owns goes with it.
  afterEach(async () => {
    await cluster.must(['delete', 'daemonsets,statefulsets,cronjobs,jobs', '--all']);
    await eventually(async () => expect((await cluster.get<{ items: unknown[] }>('pods,jobs,controllerrevisions')).items).toEqual([]), { within: 30_000 });
  });

  const podsOf = async (selector: string): Promise<Pod[]> => (await cluster.get<{ items: Pod[] }>('pods', '-l', selector)).items;
  const rolledOut = (what: string): Promise<string> => cluster.must(['rollout', 'status', what, '--timeout=60s'], { timeoutMs: 70_000 });
  const answers = async (selector: string): Promise<Record<string, string>> =>
    Object.fromEntries(await Promise.all((await podsOf(selector)).filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(async ({ metadata, status }) => [metadata.name, (await (await fetch(`http://${status?.podIP}:8080/`)).text()).trim()])));

  it('a DaemonSet is on every node, rolls out, is undone, and follows a node that joins', async () => {
    const set = (text: string) => ({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'watch', annotations: { 'kubernetes.io/change-cause': text } }, spec: { selector: { matchLabels: { app: 'watch' } }, template: templateOf('watch', text) } });
    await cluster.apply(set('first'));
    expect(await rolledOut('ds/watch')).toContain('daemon set "watch" successfully rolled out');
    expect((await podsOf('app=watch')).map(({ spec }) => spec.nodeName).sort()).toEqual(['one', 'two']);
    expect((await cluster.must(['get', 'ds', 'watch'])).trim().split('\n')).toEqual([expect.stringMatching(/^NAME +DESIRED +CURRENT +READY +UP-TO-DATE +AVAILABLE +NODE SELECTOR +AGE$/), expect.stringMatching(new RegExp(`^watch +2 +2 +2 +2 +2 +<none> +${age}$`))]);
    await cluster.apply(set('second'));
    await rolledOut('ds/watch');
    expect(Object.values(await answers('app=watch'))).toEqual(['second', 'second']);
    expect((await cluster.must(['rollout', 'history', 'ds/watch'])).trim().split('\n').slice(2)).toEqual([expect.stringMatching(/^1 +first$/), expect.stringMatching(/^2 +second$/)]);
    expect(await cluster.must(['rollout', 'undo', 'ds/watch'])).toBe('daemonset.apps/watch rolled back\n');
    await rolledOut('ds/watch');
    expect(Object.values(await answers('app=watch'))).toEqual(['first', 'first']);
    expect((await cluster.must(['rollout', 'history', 'ds/watch'])).trim().split('\n').slice(2).map((line) => line.split(/\s+/)[0])).toEqual(['2', '3']);
    cluster.addNode('three');
    await eventually(async () => expect((await podsOf('app=watch')).map(({ spec }) => spec.nodeName).sort()).toEqual(['one', 'three', 'two']), { within: 60_000 });
    await rolledOut('ds/watch');
  });

  it('a StatefulSet keeps names and order, rolls out by partition, and is undone', async () => {
    const set = (text: string, partition: number) => ({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec: { replicas: 3, serviceName: 'db', selector: { matchLabels: { app: 'db' } }, updateStrategy: { rollingUpdate: { partition } }, template: templateOf('db', text) } });
    await cluster.apply(set('first', 0));
    expect(await rolledOut('sts/db')).toContain('partitioned roll out complete: 3 new pods have been updated...');
    const pods = await podsOf('app=db');
    expect(pods.map(({ metadata, spec }) => [metadata.name, spec.hostname, spec.subdomain])).toEqual([0, 1, 2].map((n) => [`db-${n}`, `db-${n}`, 'db']));
    const started = pods.map(({ status }) => Date.parse(status!.startTime!));
    expect(started).toEqual([...started].sort((a, b) => a - b));
    await cluster.apply(set('second', 2));
    expect(await rolledOut('sts/db')).toMatch(/partitioned roll out complete: 1 new pods have been updated\.\.\./);
    expect(await answers('app=db')).toEqual({ 'db-0': 'first', 'db-1': 'first', 'db-2': 'second' });
    await cluster.apply(set('second', 0));
    await rolledOut('sts/db');
    expect(Object.values(await answers('app=db'))).toEqual(['second', 'second', 'second']);
    await cluster.must(['rollout', 'undo', 'sts/db']);
    await rolledOut('sts/db');
    expect(Object.values(await answers('app=db'))).toEqual(['first', 'first', 'first']);
    await cluster.must(['scale', 'sts/db', '--replicas=1']);
    await eventually(async () => expect((await podsOf('app=db')).map(({ metadata }) => metadata.name)).toEqual(['db-0']), { within: 30_000 });
  });

  it('a Job runs to its end, an indexed one tells each pod its number, a failing one gives up', async () => {
    const jobOf = (name: string, script: string, spec: object = {}) => ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { ...spec, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image, command: ['sh', '-c', script] }] } } } });
    await cluster.must(['create', 'job', 'sum', `--image=${image}`, '--', 'sh', '-c', 'echo $((40 + 2))']);
    await cluster.must(['wait', '--for=condition=complete', 'job/sum', '--timeout=60s']);
    expect((await cluster.must(['get', 'job', 'sum'])).trim().split('\n')).toEqual([expect.stringMatching(/^NAME +STATUS +COMPLETIONS +DURATION +AGE$/), expect.stringMatching(new RegExp(`^sum +Complete +1/1 +${age} +${age}$`))]);
    expect(await cluster.must(['logs', 'job/sum'])).toBe('42\n');

    await cluster.apply(jobOf('parts', 'echo "$JOB_COMPLETION_INDEX on $HOSTNAME"', { completionMode: 'Indexed', completions: 4, parallelism: 2 }), jobOf('doomed', 'exit 7', { backoffLimit: 0 }));
    await cluster.must(['wait', '--for=condition=complete', 'job/parts', '--timeout=60s']);
    expect((await cluster.get<Job>('job', 'parts')).status).toMatchObject({ succeeded: 4, completedIndexes: '0-3' });
    const logs = await Promise.all((await podsOf('job-name=parts')).map(({ metadata }) => cluster.must(['logs', metadata.name])));
    expect(logs.sort()).toEqual([0, 1, 2, 3].map((index) => `${index} on parts-${index}\n`));
    await cluster.must(['wait', '--for=condition=failed', 'job/doomed', '--timeout=60s']);
    await eventually(async () => expect(await cluster.must(['describe', 'job', 'doomed'])).toMatch(/Warning +BackoffLimitExceeded .*Job has reached the specified backoff limit/));
  });

  it('a CronJob starts its jobs, and one by hand', async () => {
    await cluster.must(['create', 'cronjob', 'tick', `--image=${image}`, '--schedule=*/1 * * * *', '--', 'date']);
    await cluster.must(['create', 'job', 'now', '--from=cronjob/tick']);
    await cluster.must(['wait', '--for=condition=complete', 'job/now', '--timeout=60s']);
    expect((await cluster.get<Job>('job', 'now')).metadata).toMatchObject({ annotations: { 'cronjob.kubernetes.io/instantiate': 'manual' }, ownerReferences: [{ kind: 'CronJob', name: 'tick' }] });
    await eventually(async () => expect((await cluster.get<CronJob>('cronjob', 'tick')).status).toMatchObject({ lastScheduleTime: expect.any(String), lastSuccessfulTime: expect.any(String) }), { within: 120_000 });
    const jobs = (await cluster.get<{ items: Job[] }>('jobs')).items.map(({ metadata }) => metadata.name);
    expect(jobs).toEqual(expect.arrayContaining([expect.stringMatching(/^tick-\d{8}$/)]));
    expect((await cluster.must(['get', 'cronjob', 'tick'])).trim().split('\n')[1]).toMatch(new RegExp(`^tick +\\*/1 \\* \\* \\* \\* +<none> +False +[01] +${age} +${age}$`));
    expect(cluster.dead()).toEqual([]);
  });
});
