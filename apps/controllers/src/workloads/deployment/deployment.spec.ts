import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Deployment, Pod, ReplicaSet } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1', 'n2');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  cluster.nodes.fate = () => 'runs';
  for (const { metadata } of await cluster.list('deployments.apps')) await cluster.delete('deployments.apps', metadata.name);
  await cluster.until(async () => expect([...(await cluster.list('replicasets.apps')), ...(await cluster.list('pods'))]).toEqual([]));
});

const labels = { app: 'web' };
const deploy = (name: string, replicas: number, more: object = {}): Promise<Deployment> =>
  cluster.create<Deployment>({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, annotations: { 'kubernetes.io/change-cause': 'first' } },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'web:1' }] } }, ...more },
  });
const read = async (name: string): Promise<Deployment> => (await cluster.get<Deployment>('deployments.apps', name))!;
const sets = async (): Promise<ReplicaSet[]> => (await cluster.list<ReplicaSet>('replicasets.apps')).sort((a, b) => revision(a) - revision(b));
const revision = (object: { metadata: { annotations?: Record<string, string> } }): number => Number(object.metadata.annotations?.['deployment.kubernetes.io/revision']);
const setImage = (name: string, image: string, cause?: string): Promise<Deployment> =>
  cluster.edit<Deployment>('deployments.apps', name, ({ spec, metadata }) => {
    spec.template.spec.containers[0]!.image = image;
    if (cause !== undefined) metadata.annotations = { ...metadata.annotations, 'kubernetes.io/change-cause': cause };
  });
const condition = ({ status }: Deployment, type: string): string | undefined => {
  const found = status?.conditions?.find((one) => one.type === type);
  return found && `${found.status} ${found.reason}`;
};
const complete = (name: string, replicas: number): Promise<Deployment> =>
  cluster.until(async () => {
    const deployment = await read(name);
    expect(deployment.status).toMatchObject({ observedGeneration: deployment.metadata.generation, replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas });
    expect(condition(deployment, 'Progressing')).toBe('True NewReplicaSetAvailable');
    return deployment;
  });

describe('a deployment', () => {
  it('makes its pods by a replica set named after its template, and tells of it', async () => {
    const deployment = await deploy('web', 3);
    const done = await complete('web', 3);
    expect(condition(done, 'Available')).toBe('True MinimumReplicasAvailable');
    expect(revision(done)).toBe(1);
    const [set] = await sets();
    const hash = set!.metadata.labels?.['pod-template-hash'];
    expect(set).toMatchObject({
      metadata: { name: `web-${hash}`, annotations: { 'kubernetes.io/change-cause': 'first', 'deployment.kubernetes.io/desired-replicas': '3', 'deployment.kubernetes.io/max-replicas': '4' }, ownerReferences: [{ kind: 'Deployment', uid: deployment.metadata.uid, controller: true, blockOwnerDeletion: true }] },
      spec: { replicas: 3, selector: { matchLabels: { app: 'web', 'pod-template-hash': hash } } },
      status: { replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3, observedGeneration: 1 },
    });
    const pods = await cluster.list<Pod>('pods');
    for (const { metadata } of pods) expect(metadata).toMatchObject({ name: expect.stringMatching(new RegExp(`^web-${hash}-[a-z0-9]{5}$`)), generateName: `web-${hash}-`, labels: { app: 'web', 'pod-template-hash': hash }, ownerReferences: [{ kind: 'ReplicaSet', uid: set!.metadata.uid }] });
    await cluster.until(async () => {
      expect(await cluster.events(deployment)).toEqual([`ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`]);
      expect((await cluster.events(set!)).sort()).toEqual(pods.map(({ metadata }) => `SuccessfulCreate: Created pod: ${metadata.name}`).sort());
    });
  });

  it('rolls out a new template, keeps the old revision, and goes back to it', async () => {
    await deploy('web', 4);
    await complete('web', 4);
    const [first] = await sets();
    await setImage('web', 'web:2', 'second');
    await complete('web', 4);
    expect((await sets()).map(({ spec, metadata }) => [spec.replicas, metadata.annotations?.['kubernetes.io/change-cause']])).toEqual([[0, 'first'], [4, 'second']]);
    // Pods that are ending count no more, and are there until their node says that they are gone.
    await cluster.until(async () => expect((await cluster.list<Pod>('pods')).map(({ spec }) => spec.containers[0]!.image)).toEqual(Array.from({ length: 4 }, () => 'web:2')));
    // As `kubectl rollout undo` does: the template of the earlier set, back in the deployment.
    await setImage('web', 'web:1');
    expect(revision(await complete('web', 4))).toBe(3);
    const again = (await sets()).at(-1)!;
    expect(again.metadata.uid).toBe(first!.metadata.uid);
    expect(again.metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '3', 'deployment.kubernetes.io/revision-history': '1' });
  });

  it('never has fewer pods available or more in all than its strategy says, while it rolls', async () => {
    await deploy('web', 5, { strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } } });
    await complete('web', 5);
    const seen = { available: 5, all: 5 };
    const off = cluster.nodes.pods.onChange(() => {
      const active = cluster.nodes.pods.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      seen.all = Math.max(seen.all, active.length);
      seen.available = Math.min(seen.available, active.filter(({ status }) => status?.phase === 'Running').length);
    });
    await setImage('web', 'web:2');
    await complete('web', 5);
    off();
    expect(seen.all).toBeLessThanOrEqual(7);
    expect(seen.all).toBeGreaterThan(5);
    expect(seen.available).toBeGreaterThanOrEqual(4);
  });

  it('stops at what cannot become ready, says so after its deadline, and is put right by the next template', async () => {
    cluster.nodes.fate = ({ spec }) => (spec.containers[0]!.image === 'web:bad' ? 'hangs' : 'runs');
    await deploy('web', 4, { progressDeadlineSeconds: 2, minReadySeconds: 0 });
    await complete('web', 4);
    await setImage('web', 'web:bad');
    const stuck = await cluster.until(async () => {
      const deployment = await read('web');
      expect(condition(deployment, 'Progressing')).toBe('False ProgressDeadlineExceeded');
      return deployment;
    });
    expect(condition(stuck, 'Available')).toBe('True MinimumReplicasAvailable');
    // 25 % of 4 is 1, both ways.
    await cluster.until(async () => expect((await sets()).map(({ spec }) => spec.replicas)).toEqual([3, 2]));
    await setImage('web', 'web:3');
    await complete('web', 4);
  });

  it('does nothing of a new template while it is paused, but scales', async () => {
    await deploy('web', 2);
    await complete('web', 2);
    await cluster.edit<Deployment>('deployments.apps', 'web', ({ spec }) => void (spec.paused = true));
    await cluster.until(async () => expect(condition(await read('web'), 'Progressing')).toBe('Unknown DeploymentPaused'));
    await setImage('web', 'web:2');
    await cluster.edit<Deployment>('deployments.apps', 'web', ({ spec }) => void (spec.replicas = 3));
    await cluster.until(async () => {
      const { status } = await read('web');
      expect(status).toMatchObject({ availableReplicas: 3 });
      expect(status).not.toHaveProperty('updatedReplicas');
    });
    expect(await sets()).toHaveLength(1);
    await cluster.edit<Deployment>('deployments.apps', 'web', ({ spec }) => void (spec.paused = false));
    await complete('web', 3);
    expect(await sets()).toHaveLength(2);
  });

  it('ends all old pods before new ones are made when it recreates', async () => {
    await deploy('web', 3, { strategy: { type: 'Recreate' } });
    await complete('web', 3);
    let mixed = false;
    const off = cluster.nodes.pods.onChange(() => {
      mixed ||= new Set(cluster.nodes.pods.list().map(({ spec }) => spec.containers[0]!.image)).size > 1;
    });
    await setImage('web', 'web:2');
    await complete('web', 3);
    off();
    expect(mixed).toBe(false);
  });

  it('keeps as many old revisions as it is told', async () => {
    await deploy('web', 1, { revisionHistoryLimit: 1 });
    for (const image of ['web:2', 'web:3', 'web:4']) {
      await complete('web', 1);
      await setImage('web', image);
    }
    await complete('web', 1);
    await cluster.until(async () => expect((await sets()).map(revision)).toEqual([3, 4]));
  });

  it('takes another name when that of its replica set is somebody else\'s', async () => {
    await deploy('web', 1);
    await complete('web', 1);
    const [{ metadata: { name } }] = (await sets()) as [ReplicaSet];
    await cluster.delete('deployments.apps', 'web');
    await cluster.until(async () => expect([...(await sets()), ...(await cluster.list('pods'))]).toEqual([]));
    const other = { app: 'other' };
    await cluster.create<ReplicaSet>({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name }, spec: { replicas: 0, selector: { matchLabels: other }, template: { metadata: { labels: other }, spec: { containers: [{ name: 'c', image: 'x' }] } } } });
    await deploy('web', 1);
    expect((await complete('web', 1)).status?.collisionCount).toBe(1);
    expect((await sets()).map((set) => set.metadata.name)).toEqual(expect.arrayContaining([name, expect.not.stringMatching(name)]));
    await cluster.delete('replicasets.apps', name);
  });
});
