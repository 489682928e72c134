import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EndpointSlice, Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { SmallCluster, steady } from './small-cluster.ts';

const nodes = ['one', 'two', 'three'];
const leaveAfterSeconds = 3;
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 4,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        tolerations: ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'].map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: leaveAfterSeconds })),
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { app: 'web' } } }],
        containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', 'mkdir /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www'], readinessProbe: { tcpSocket: { port: 8080 }, ...steady } }],
      },
    },
  },
};
const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] } };
const client = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'client' }, spec: { nodeName: 'one', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'] }] } };

/** Three machines, each with a Docker of its own; one has a bad cable, is cut off, and comes back. */
whenDocker(describe)('a machine that is hard to reach', () => {
  let cluster: SmallCluster;
  let before: Pod[];
  beforeAll(async () => {
    cluster = await SmallCluster.start(nodes, { machines: true });
    await cluster.apply(web, service, client);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    await cluster.must(['wait', '--for=condition=Ready', 'pod/client', '--timeout=60s'], { timeoutMs: 70_000 });
    before = await pods();
  }, 240_000);
  afterAll(() => cluster?.stop());

  const pods = async (): Promise<Pod[]> => (await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=web')).items;
  const onThree = (list: readonly Pod[]): string[] => list.filter(({ spec }) => spec.nodeName === 'three').map(({ metadata }) => metadata.name);
  /** Which pods answer a program in a pod on another machine. */
  const answering = async (times: number): Promise<string[]> => {
    const said = await cluster.must(['exec', 'client', '--', 'sh', '-c', `for i in $(seq ${times}); do timeout 20 wget -qO- http://web/ || echo failed; done`]);
    return [...new Set(said.trim().split('\n'))].sort();
  };
  /** Names of the pods that traffic is sent to. */
  const serving = async (): Promise<string[]> =>
    (await cluster.get<{ items: EndpointSlice[] }>('endpointslices', '-l', 'kubernetes.io/service-name=web')).items
      .flatMap(({ endpoints }) => endpoints ?? [])
      .flatMap(({ conditions, targetRef }) => (conditions?.ready === true ? [targetRef?.name ?? ''] : []))
      .sort();

  it('over which packets are lost is slow, and no request fails', async () => {
    await cluster.machine('three').lose(10);
    const all = before.map(({ metadata }) => metadata.name).sort();
    await eventually(
      async () => {
        expect(await answering(30)).toEqual(all);
        // Which ones is chance: asked until there were some.
        expect(await cluster.machine('three').lost()).toBeGreaterThan(0);
      },
      { within: 90_000 },
    );
    await cluster.machine('three').lose(0);
  });

  it('that is cut off gets no more traffic as soon as it is known to be lost, and its pods are replaced elsewhere after the time they tolerate', async () => {
    const lost = onThree(before);
    expect(lost.length).toBeGreaterThan(0);
    await cluster.machine('three').cut();
    await cluster.must(['wait', '--for=condition=Ready=Unknown', 'node/three', '--timeout=60s']);
    await eventually(async () => expect((await serving()).filter((name) => lost.includes(name))).toEqual([]));
    await eventually(async () => expect(await answering(12)).not.toContain('failed'), { within: 60_000 });
    expect((await answering(12)).filter((name) => lost.includes(name))).toEqual([]);
    await eventually(async () => expect((await pods()).filter(({ spec, status }) => spec.nodeName !== 'three' && status?.containerStatuses?.[0]?.ready === true)).toHaveLength(4), { within: 60_000 });
  });

  it('that comes back has nothing that runs twice and no address that is given twice', async () => {
    const replaced = onThree(before);
    await cluster.machine('three').heal();
    await cluster.ready(['three']);
    await eventually(async () => expect((await pods()).map(({ metadata }) => metadata.name).filter((name) => replaced.includes(name))).toEqual([]), { within: 60_000 });
    // What ran there meanwhile has ended.
    await eventually(
      async () => {
        const left = (await cluster.dockerOf('three').request('GET', '/containers/json')) as { Labels: Record<string, string> }[];
        const uids = new Set(before.filter(({ spec }) => spec.nodeName === 'three').map(({ metadata }) => metadata.uid));
        expect(left.filter(({ Labels }) => Object.values(Labels).some((value) => uids.has(value)))).toEqual([]);
      },
      { within: 60_000 },
    );
    await cluster.must(['scale', 'deployment', 'web', '--replicas=8']);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    const now = await pods();
    expect(onThree(now).length).toBeGreaterThan(0);
    const addresses = now.map(({ status }) => status?.podIP);
    expect(new Set(addresses).size).toBe(8);
    const names = now.map(({ metadata }) => metadata.name).sort();
    await eventually(async () => expect(await answering(100)).toEqual(names), { within: 60_000 });
  });
});
