import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ControllerRevision, KubeObject, StatefulSet, StatefulSetSpec } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1', 'n2');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const { metadata } of await cluster.list('statefulsets.apps')) await cluster.delete('statefulsets.apps', metadata.name);
  for (const { metadata } of await cluster.list('persistentvolumeclaims')) await cluster.delete('persistentvolumeclaims', metadata.name).catch(() => undefined);
  await cluster.until(async () => expect([...(await cluster.list('pods')), ...(await cluster.list('controllerrevisions.apps')), ...(await cluster.list('persistentvolumeclaims'))]).toEqual([]));
});

const labels = { app: 'db' };
const set = (spec: object = {}): Promise<StatefulSet> =>
  cluster.create<StatefulSet>({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec: { replicas: 3, serviceName: 'db', selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'db:1' }] } }, ...spec } });
const read = async (): Promise<StatefulSet> => (await cluster.get<StatefulSet>('statefulsets.apps', 'db'))!;
const edit = (change: (spec: StatefulSetSpec) => void) => cluster.edit<StatefulSet>('statefulsets.apps', 'db', ({ spec }) => change(spec));
const setImage = (image: string) => edit((spec) => void (spec.template.spec.containers[0]!.image = image));
const images = async (): Promise<Record<string, string | undefined>> => Object.fromEntries((await cluster.readyPods()).map(({ metadata, spec }) => [metadata.name, spec.containers[0]!.image]).sort());

describe('a stateful set in a cluster', () => {
  it('starts its pods in order, scales in order, and tells of it', async () => {
    const made = await set();
    await cluster.until(async () => expect((await read()).status).toMatchObject({ replicas: 3, readyReplicas: 3, currentReplicas: 3, updatedReplicas: 3, availableReplicas: 3 }));
    await edit((spec) => void (spec.replicas = 1));
    await cluster.until(async () => expect(await images()).toEqual({ 'db-0': 'db:1' }));
    await cluster.until(async () =>
      expect(await cluster.events(made)).toEqual([
        ...[0, 1, 2].map((n) => `SuccessfulCreate: create Pod db-${n} in StatefulSet db successful`),
        ...[2, 1].map((n) => `SuccessfulDelete: delete Pod db-${n} in StatefulSet db successful`),
      ]),
    );
    expect((await cluster.readyPods())[0]).toMatchObject({ metadata: { labels: { ...labels, 'statefulset.kubernetes.io/pod-name': 'db-0', 'apps.kubernetes.io/pod-index': '0', 'controller-revision-hash': (await read()).status?.updateRevision } }, spec: { hostname: 'db-0', subdomain: 'db' } });
    // Whoever deletes one gets another of the same name.
    const { uid } = (await cluster.readyPods())[0]!.metadata;
    await cluster.delete('pods', 'db-0');
    await cluster.until(async () => {
      const [pod] = await cluster.readyPods();
      expect([pod?.metadata.name, pod?.metadata.uid === uid]).toEqual(['db-0', false]);
    });
  });

  it('makes a pod anew that has ended, and says why', async () => {
    const made = await set({ replicas: 1 });
    for (const [phase, told] of [['Failed', 'RecreatingFailedPod: StatefulSet default/db is recreating failed Pod db-0'], ['Succeeded', 'RecreatingTerminatedPod: StatefulSet default/db is recreating terminated Pod db-0']]) {
      await cluster.until(async () => expect((await read()).status?.readyReplicas).toBe(1));
      const [pod] = await cluster.readyPods();
      const { name, namespace, uid } = pod!.metadata;
      await cluster.write({ operation: 'updateStatus', resource: 'pods', namespace: namespace!, name, object: { ...pod, metadata: { name, namespace, uid }, status: { phase } } as unknown as Record<string, unknown> });
      await cluster.until(async () => expect(await cluster.events(made)).toContain(told));
      await cluster.until(async () => expect((await cluster.readyPods()).map(({ metadata }) => [metadata.name, metadata.uid === uid])).toEqual([['db-0', false]]));
    }
  });

  it('rolls out down to its partition, and goes back to a revision', async () => {
    await set({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
    await cluster.until(async () => expect((await read()).status?.readyReplicas).toBe(3));
    const first = (await read()).status?.currentRevision;
    await setImage('db:2');
    await cluster.until(async () => expect(await images()).toEqual({ 'db-0': 'db:1', 'db-1': 'db:1', 'db-2': 'db:2' }));
    // One that is held comes back as it was.
    await cluster.delete('pods', 'db-0');
    await cluster.until(async () => expect((await read()).status).toMatchObject({ readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: first }));
    await cluster.until(async () => expect((await images())['db-0']).toBe('db:1'));
    await edit((spec) => void (spec.updateStrategy.rollingUpdate = { partition: 0 }));
    await cluster.until(async () => expect((await read()).status).toMatchObject({ currentReplicas: 3, updatedReplicas: 3, readyReplicas: 3 }));
    await setImage('db:1');
    await cluster.until(async () => expect(await images()).toEqual({ 'db-0': 'db:1', 'db-1': 'db:1', 'db-2': 'db:1' }));
    await cluster.until(async () => expect((await read()).status).toMatchObject({ currentRevision: first, updateRevision: first, updatedReplicas: 3 }));
    const revisions = (await cluster.list<ControllerRevision & KubeObject>('controllerrevisions.apps')).sort((a, b) => a.revision - b.revision);
    expect(revisions.map(({ revision, metadata }) => [revision, metadata.name === first])).toEqual([[2, false], [3, true]]);
  });

  it('goes after its pods and revisions when it is deleted in the foreground', async () => {
    await set({ replicas: 2 });
    await cluster.until(async () => expect((await read()).status?.readyReplicas).toBe(2));
    await cluster.delete('statefulsets.apps', 'db', { propagationPolicy: 'Foreground' });
    await cluster.until(async () => expect([await cluster.get('statefulsets.apps', 'db'), await cluster.list('pods'), await cluster.list('controllerrevisions.apps')]).toEqual([undefined, [], []]));
  });

  const withClaims = (more: object = {}) => set({ replicas: 2, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }], ...more });
  const claims = async (): Promise<string[]> => (await cluster.list<KubeObject>('persistentvolumeclaims')).filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata }) => metadata.name).sort();

  it('gives each pod its claims, and keeps them', async () => {
    const made = await withClaims();
    await cluster.until(async () => expect((await read()).status?.readyReplicas).toBe(2));
    await cluster.until(async () => expect(await cluster.events(made)).toContain('SuccessfulCreate: create Claim data-db-0 Pod db-0 in StatefulSet db success'));
    expect((await cluster.readyPods())[0]?.spec.volumes).toEqual([{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } }]);
    await edit((spec) => void (spec.replicas = 1));
    await cluster.until(async () => expect((await cluster.list('pods')).length).toBe(1));
    expect(await claims()).toEqual(['data-db-0', 'data-db-1']);
  });

  it('lets claims go with the pods that are too many, or with the set, when it is told to', async () => {
    await withClaims({ persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Delete' } });
    await cluster.until(async () => expect((await read()).status?.readyReplicas).toBe(2));
    await edit((spec) => void (spec.replicas = 1));
    await cluster.until(async () => expect(await claims()).toEqual(['data-db-0']));
    await cluster.delete('statefulsets.apps', 'db');
    await cluster.until(async () => expect([await claims(), await cluster.list('pods')]).toEqual([[], []]));
  });
});
