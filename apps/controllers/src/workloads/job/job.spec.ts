import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { isPodActive, type Job, type JobSpec, type Pod } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1', 'n2');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  cluster.nodes.fate = () => 'succeeds';
  for (const { metadata } of await cluster.list('jobs.batch')) await cluster.delete('jobs.batch', metadata.name, { propagationPolicy: 'Background' });
  // Also those that were held to be counted.
  await cluster.until(async () => expect([...(await cluster.list('jobs.batch')), ...(await cluster.list('pods'))]).toEqual([]));
});

const run = (name: string, spec: Partial<JobSpec> = {}): Promise<Job> =>
  cluster.create<Job>({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work:1' }] } }, ...spec } });
const read = async (name: string): Promise<Job> => (await cluster.get<Job>('jobs.batch', name))!;
const finished = (name: string): Promise<Job> =>
  cluster.until(async () => {
    const job = await read(name);
    expect(job.status?.conditions?.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True')).toBe(true);
    return job;
  });
const conditions = ({ status }: Job): string[] => (status?.conditions ?? []).map(({ type, status: holds, reason }) => `${type}=${holds} ${reason}`);
const pods = (): Promise<Pod[]> => cluster.list<Pod>('pods');

describe('a job in a cluster', () => {
  it('runs to its end, counts its pods, lets them go and tells of it', async () => {
    cluster.nodes.fate = () => 'succeeds';
    const job = await run('sum', { completions: 5, parallelism: 2 });
    const done = await finished('sum');
    expect(done.status).toMatchObject({ succeeded: 5, ready: 0, terminating: 0, uncountedTerminatedPods: {}, startTime: expect.any(String), completionTime: expect.any(String) });
    expect(conditions(done)).toEqual(['SuccessCriteriaMet=True CompletionsReached', 'Complete=True CompletionsReached']);
    const all = await pods();
    expect(all).toHaveLength(5);
    expect(all.flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([]);
    expect(all[0]).toMatchObject({ metadata: { name: expect.stringMatching(/^sum-[a-z2-9]{5}$/), labels: { 'job-name': 'sum', 'batch.kubernetes.io/controller-uid': job.metadata.uid }, ownerReferences: [{ kind: 'Job', name: 'sum', controller: true }] } });
    await cluster.until(async () => {
      const events = await cluster.events(job);
      expect(events.filter((event) => event.startsWith('SuccessfulCreate: Created pod: sum-'))).toHaveLength(5);
      expect(events).toContain('Completed: Job completed');
    });
  });

  it('numbers its pods when it is indexed', async () => {
    cluster.nodes.fate = () => 'succeeds';
    await run('parts', { completionMode: 'Indexed', completions: 3, parallelism: 3 });
    expect((await finished('parts')).status).toMatchObject({ succeeded: 3, completedIndexes: '0-2' });
    const all = (await pods()).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    expect(all.map(({ spec, metadata }) => [spec.hostname, metadata.labels?.['batch.kubernetes.io/job-completion-index']])).toEqual([['parts-0', '0'], ['parts-1', '1'], ['parts-2', '2']]);
    expect(all[0]!.spec.containers[0]!.env).toEqual([{ name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } } }]);
  });

  it('fails with its pods, says so, and goes when its time is over', async () => {
    cluster.nodes.fate = () => 'fails';
    const job = await run('doomed', { backoffLimit: 0 });
    const done = await finished('doomed');
    expect([done.status?.failed, conditions(done)]).toEqual([1, ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded']]);
    await cluster.until(async () => expect(await cluster.events(job)).toContain('BackoffLimitExceeded: Job has reached the specified backoff limit'));
    // Only now: else it might be gone before it was looked at.
    await cluster.edit<Job>('jobs.batch', 'doomed', ({ spec }) => void (spec.ttlSecondsAfterFinished = 1));
    await cluster.until(async () => expect([await cluster.get('jobs.batch', 'doomed'), await pods()]).toEqual([undefined, []]));
  });

  it('lets go of its pods while it is suspended, and is ended by its deadline', async () => {
    cluster.nodes.fate = () => 'hangs';
    const job = await run('slow', { parallelism: 2, completions: 2 });
    await cluster.until(async () => expect((await read('slow')).status).toMatchObject({ active: 2 }));
    await cluster.edit<Job>('jobs.batch', 'slow', ({ spec }) => void (spec.suspend = true));
    await cluster.until(async () => expect([await pods(), conditions(await read('slow')), (await read('slow')).status?.failed]).toEqual([[], ['Suspended=True JobSuspended'], undefined]));
    await cluster.edit<Job>('jobs.batch', 'slow', ({ spec }) => Object.assign(spec, { suspend: false, activeDeadlineSeconds: 1 }));
    const done = await finished('slow');
    expect(conditions(done)).toEqual(['Suspended=False JobResumed', 'FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded']);
    await cluster.until(async () => expect(await cluster.events(job)).toEqual(expect.arrayContaining(['Suspended: Job suspended', 'Resumed: Job resumed', 'DeadlineExceeded: Job was active longer than specified deadline'])));
  });

  it('holds no pod back when it is deleted while they run, nor when it leaves them behind', async () => {
    cluster.nodes.fate = () => 'hangs';
    for (const propagationPolicy of ['Foreground', 'Background', 'Orphan'] as const) {
      await run('cut-short', { parallelism: 2, completions: 2 });
      await cluster.until(async () => expect((await read('cut-short')).status).toMatchObject({ active: 2 }));
      await cluster.delete('jobs.batch', 'cut-short', { propagationPolicy });
      await cluster.until(async () => expect([propagationPolicy, await cluster.get('jobs.batch', 'cut-short')]).toEqual([propagationPolicy, undefined]));
      const left = propagationPolicy === 'Orphan' ? 2 : 0;
      await cluster.until(async () => expect((await pods()).map(({ metadata }) => [metadata.finalizers ?? [], metadata.ownerReferences ?? []])).toEqual(Array.from({ length: left }, () => [[], []])));
      for (const { metadata } of await pods()) await cluster.delete('pods', metadata.name);
    }
  });

  it('replaces a pod that somebody deletes, and counts it', async () => {
    cluster.nodes.fate = () => 'hangs';
    await run('robust');
    const [pod] = await cluster.until(async () => {
      expect((await pods()).filter(isPodActive)).toHaveLength(1);
      return pods();
    });
    await cluster.delete('pods', pod!.metadata.name);
    await cluster.until(async () => {
      expect((await read('robust')).status).toMatchObject({ failed: 1, active: 1, terminating: 0 });
      expect((await pods()).map(({ metadata }) => metadata.uid)).not.toContain(pod!.metadata.uid);
    });
  });

  it('counts every pod once, though its controllers are stopped and started again while pods end', async () => {
    cluster.nodes.fate = () => 'hangs';
    await run('long', { completions: 30, parallelism: 5 });
    for (let i = 0; i < 4; i++) {
      // Those that are active end by this test alone: the job is far from done with each restart.
      const active = await cluster.until(async () => {
        const found = (await pods()).filter(isPodActive);
        expect(found.length).toBeGreaterThan(0);
        return found;
      });
      for (const pod of active) {
        const { name, namespace, uid } = pod.metadata;
        await cluster.write({ operation: 'updateStatus', resource: 'pods', namespace: namespace!, name, object: { ...pod, metadata: { name, namespace, uid }, status: { ...pod.status, phase: 'Succeeded' } } as unknown as Record<string, unknown> });
      }
      expect((await pods()).filter(isPodActive).length).toBeLessThanOrEqual(5);
      await cluster.stopControllers();
      await cluster.startControllers();
    }
    cluster.nodes.fate = () => 'succeeds';
    for (const node of ['n1', 'n2']) cluster.nodes.rejoin(node);
    const done = await cluster.until(async () => {
      expect((await pods()).filter(isPodActive).length).toBeLessThanOrEqual(5);
      const job = await read('long');
      expect(conditions(job).at(-1)).toBe('Complete=True CompletionsReached');
      return job;
    });
    expect([done.status?.succeeded, done.status?.failed, (await pods()).length]).toEqual([30, undefined, 30]);
  });
});
