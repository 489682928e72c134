import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { SmallCluster, steady, type Inspected } from './small-cluster.ts';

const container = { name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'echo $HOSTNAME > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'], readinessProbe: { tcpSocket: { port: 8080 }, ...steady } };

/** MiniK8s acceptance, fault tolerance: the control plane dies, and nothing that runs notices. */
whenDocker(describe)('a small cluster whose control plane is killed', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two']);
    await cluster.apply(
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } }, spec: { terminationGracePeriodSeconds: 0, containers: [container] } } } },
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'single', labels: { app: 'web' } }, spec: { containers: [container] } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' }, data: { a: '1' } },
    );
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    await cluster.must(['wait', '--for=condition=Ready', 'pod/single', '--timeout=60s']);
  }, 240_000);
  afterAll(() => cluster?.stop());

  const pods = async (): Promise<Pod[]> => (await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=web')).items;
  const answers = (of: readonly Pod[]): Promise<string[]> => Promise.all(of.map(async ({ status }) => (await (await fetch(`http://${status?.podIP}:8080/`, { signal: AbortSignal.timeout(20_000) })).text()).trim()));
  const running = async (of: readonly Pod[]): Promise<Inspected['State'][]> => Promise.all(of.map(async ({ metadata }) => (await cluster.inspect(metadata.name, 'main')).State));
  const looks = async (): Promise<string[]> => (await cluster.must(['get', 'deployments,replicasets,pods,configmaps,nodes', '-o', 'custom-columns=KIND:.kind,NAME:.metadata.name,UID:.metadata.uid,NODE:.spec.nodeName,IP:.status.podIP', '--no-headers'])).trim().split('\n').sort();

  for (const { what, killed } of [
    { what: 'without its nodes', killed: () => cluster.controlPlane },
    { what: 'with its agents', killed: () => [...cluster.controlPlane, 'agent-one', 'agent-two'] },
  ]) {
    it(`${what}: pods go on and answer, all is as it was, and what Docker did meanwhile is repaired`, async () => {
      const before = { pods: await pods(), looks: await looks(), running: await running(await pods()) };
      const [victim, ...others] = before.pods;
      const restarts = victim?.status?.containerStatuses?.[0]?.restartCount ?? 0;
      await cluster.kill(killed());
      expect(await answers(before.pods)).toEqual(before.pods.map(({ metadata }) => metadata.name));
      expect((await cluster.kubectl(['get', 'pods'])).code).not.toBe(0);

      // While nobody decides anything, somebody kills a container.
      const id = victim!.status!.containerStatuses![0]!.containerID!.replace('docker://', '');
      await cluster.docker.request('POST', `/containers/${id}/kill`);
      expect(await answers(others)).toEqual(others.map(({ metadata }) => metadata.name));
      cluster.restart(killed());
      await cluster.ready(['one', 'two']);

      await eventually(async () => expect((await cluster.get<Pod>('pod', victim!.metadata.name)).status?.containerStatuses?.[0]).toMatchObject({ restartCount: restarts + 1, ready: true, lastState: { terminated: { exitCode: 137 } } }), { within: 60_000 });
      expect(await looks()).toEqual(before.looks);
      expect(await answers(before.pods)).toEqual(before.pods.map(({ metadata }) => metadata.name));
      expect(await running(others)).toEqual(before.running.slice(1));
      await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s']);
      // And it works on.
      await cluster.must(['scale', 'deployment/web', '--replicas=4']);
      await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s']);
      await cluster.must(['scale', 'deployment/web', '--replicas=3']);
      await eventually(async () => expect(await pods()).toHaveLength(4), { within: 20_000 });
      expect(cluster.dead()).toEqual([]);
    });
  }
});
