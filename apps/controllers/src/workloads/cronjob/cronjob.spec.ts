import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CronJob, CronJobSpec, Job } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1');
});
afterAll(() => cluster.stop());

const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work:1' }] } };
const schedule = (name: string, spec: Partial<CronJobSpec>): Promise<CronJob> =>
  cluster.create<CronJob>({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name }, spec: { schedule: '@every 1s', jobTemplate: { metadata: { labels: { made: 'by-cron' } }, spec: { template } }, ...spec } });
const read = async (name: string): Promise<CronJob> => (await cluster.get<CronJob>('cronjobs.batch', name))!;
const jobsOf = async ({ metadata }: CronJob): Promise<Job[]> => (await cluster.list<Job>('jobs.batch')).filter((job) => job.metadata.ownerReferences?.[0]?.uid === metadata.uid);

describe('a cron job in a cluster', () => {
  it('starts its job under the name of its minute, follows it to its end, and takes it along when it goes', async () => {
    cluster.nodes.fate = () => 'hangs';
    const cronJob = await schedule('report', { timeZone: 'Europe/Berlin' });
    const [job] = await cluster.until(async () => {
      const jobs = await jobsOf(cronJob);
      expect(jobs.length).toBeGreaterThan(0);
      return jobs;
    });
    expect(job).toMatchObject({
      metadata: { name: expect.stringMatching(/^report-\d{8}$/), labels: { made: 'by-cron' }, annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': expect.stringMatching(/^\d{4}-.*\+0[12]:00$/) }, ownerReferences: [{ kind: 'CronJob', name: 'report', controller: true }] },
    });
    await cluster.until(async () => {
      const { status } = await read('report');
      // Beside it, perhaps, that of the next minute.
      expect(status?.active).toContainEqual(expect.objectContaining({ kind: 'Job', name: job!.metadata.name, uid: job!.metadata.uid }));
      expect(status?.lastScheduleTime).toEqual(expect.any(String));
    });
    await cluster.edit<CronJob>('cronjobs.batch', 'report', ({ spec }) => void (spec.suspend = true));
    cluster.nodes.fate = () => 'succeeds';
    cluster.nodes.rejoin('n1');
    await cluster.until(async () => {
      const { status } = await read('report');
      expect([status?.active, status?.lastSuccessfulTime]).toEqual([undefined, expect.any(String)]);
      expect(await cluster.events(cronJob)).toEqual(expect.arrayContaining([`SuccessfulCreate: Created job ${job!.metadata.name}`, `SawCompletedJob: Saw completed job: ${job!.metadata.name}, condition: Complete`]));
    });
    await cluster.delete('cronjobs.batch', 'report');
    await cluster.until(async () => expect([...(await jobsOf(cronJob)), ...(await cluster.list('pods'))]).toEqual([]));
  });

  it('starts nothing beside a job that still runs when it may not, and says so', async () => {
    cluster.nodes.fate = () => 'hangs';
    const cronJob = await schedule('alone', { concurrencyPolicy: 'Forbid', startingDeadlineSeconds: 100 });
    await cluster.until(async () => expect(await jobsOf(cronJob)).toHaveLength(1));
    const [first] = await jobsOf(cronJob);
    // As if the job had been started two minutes ago: its name is another one then.
    const { metadata } = first!;
    await cluster.delete('jobs.batch', metadata.name, { propagationPolicy: 'Background' });
    const older = await cluster.create<Job>({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'alone-1', ownerReferences: metadata.ownerReferences }, spec: { template } });
    await cluster.until(async () => expect((await read('alone')).status?.active?.map(({ uid }) => uid)).toContain(older.metadata.uid));
    await cluster.until(async () => expect((await cluster.events(cronJob)).some((event) => event.startsWith('JobAlreadyActive: '))).toBe(true));
    await cluster.delete('cronjobs.batch', 'alone');
  });
});
