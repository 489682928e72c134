import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ControllerRevision, DaemonSet, DaemonSetSpec, KubeObject, Node } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';
import { nodeOf } from './daemon-pod.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.placement = nodeOf;
  cluster.nodes.join('n1', 'n2', 'n3');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const { metadata } of await cluster.list('daemonsets.apps')) await cluster.delete('daemonsets.apps', metadata.name);
  await cluster.until(async () => expect([...(await cluster.list('pods')), ...(await cluster.list('controllerrevisions.apps'))]).toEqual([]));
});

const labels = { app: 'agent' };
const set = (spec: Partial<DaemonSetSpec> = {}): Promise<DaemonSet> =>
  cluster.create<DaemonSet>({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent', annotations: { 'kubernetes.io/change-cause': 'first' } }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'agent:1' }] } }, ...spec } });
const read = async (): Promise<DaemonSet> => (await cluster.get<DaemonSet>('daemonsets.apps', 'agent'))!;
const setImage = (image: string) => cluster.edit<DaemonSet>('daemonsets.apps', 'agent', ({ spec }) => void (spec.template.spec.containers[0]!.image = image));
const rolledOut = (nodes: number, image: string): Promise<void> =>
  cluster.until(async () => {
    const { status, metadata } = await read();
    expect(status).toEqual({ observedGeneration: metadata.generation, desiredNumberScheduled: nodes, currentNumberScheduled: nodes, numberMisscheduled: 0, numberReady: nodes, updatedNumberScheduled: nodes, numberAvailable: nodes });
    const pods = await cluster.readyPods();
    expect(pods.map(({ spec }) => spec.containers[0]!.image)).toEqual(Array.from({ length: nodes }, () => image));
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(nodes);
  });
const history = async (): Promise<(ControllerRevision & KubeObject)[]> => (await cluster.list<ControllerRevision & KubeObject>('controllerrevisions.apps')).sort((a, b) => a.revision - b.revision);

describe('a daemon set in a cluster', () => {
  it('has a pod on every node, also on those that come later, and on none that is not meant', async () => {
    const made = await set();
    await rolledOut(3, 'agent:1');
    await cluster.until(async () => expect((await cluster.events(made)).filter((event) => event.startsWith('SuccessfulCreate: Created pod: agent-'))).toHaveLength(3));
    cluster.nodes.join('n4');
    await rolledOut(4, 'agent:1');
    const node = (await cluster.store.get('nodes', undefined, 'n4')) as Node;
    await cluster.write({ operation: 'update', resource: 'nodes', name: 'n4', object: { ...node, metadata: { name: 'n4' }, spec: { ...node.spec, taints: [{ key: 'gpu', effect: 'NoExecute' }] } } as unknown as Record<string, unknown> });
    await rolledOut(3, 'agent:1');
    await cluster.delete('pods', (await cluster.readyPods())[0]!.metadata.name);
    await rolledOut(3, 'agent:1');
  });

  it('rolls out a new template, keeps its history, and goes back', async () => {
    await set({ revisionHistoryLimit: 1 });
    await rolledOut(3, 'agent:1');
    await setImage('agent:2');
    await rolledOut(3, 'agent:2');
    const [first, second] = await history();
    expect([first?.revision, second?.revision, first?.metadata.annotations?.['kubernetes.io/change-cause'], first?.metadata.labels]).toEqual([1, 2, 'first', { ...labels, 'controller-revision-hash': first?.metadata.name.slice('agent-'.length) }]);
    expect(first?.data).toMatchObject({ spec: { template: { $patch: 'replace', spec: { containers: [{ image: 'agent:1' }] } } } });
    await setImage('agent:1');
    await rolledOut(3, 'agent:1');
    expect((await history()).map(({ revision, metadata }) => [revision, metadata.name])).toEqual([[2, second?.metadata.name], [3, first?.metadata.name]]);
    await setImage('agent:3');
    await rolledOut(3, 'agent:3');
    await cluster.until(async () => expect((await history()).map(({ revision }) => revision)).toEqual([3, 4]));
  });

  it('goes after its pods and revisions when it is deleted in the foreground', async () => {
    await set();
    await rolledOut(3, 'agent:1');
    await cluster.delete('daemonsets.apps', 'agent', { propagationPolicy: 'Foreground' });
    await cluster.until(async () => expect([await cluster.get('daemonsets.apps', 'agent'), await cluster.list('pods'), await history()]).toEqual([undefined, [], []]));
  });

  it('replaces a pod that has failed, and tells of it', async () => {
    const made = await set();
    await rolledOut(3, 'agent:1');
    const [pod] = await cluster.readyPods();
    const { name, namespace, uid } = pod!.metadata;
    await cluster.write({ operation: 'updateStatus', resource: 'pods', namespace: namespace!, name, object: { ...pod, metadata: { name, namespace, uid }, status: { phase: 'Failed' } } as unknown as Record<string, unknown> });
    await cluster.until(async () => expect(await cluster.events(made)).toContain(`FailedDaemonPod: Found failed daemon pod default/${name} on node ${pod!.spec.nodeName}, will try to kill it`));
    await rolledOut(3, 'agent:1');
  });
});
