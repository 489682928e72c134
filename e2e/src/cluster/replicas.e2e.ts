import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { age, SmallCluster, steady } from './small-cluster.ts';

const server = (text: string): string[] => ['sh', '-c', `echo ${text} > /tmp/index.html; exec httpd -f -p 8080 -h /tmp`];
const specOf = (name: string, replicas: number, command: string[], container: object = {}, pod: object = {}) => ({
  replicas,
  selector: { matchLabels: { app: name } },
  template: {
    metadata: { labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 0, ...pod, containers: [{ name: 'main', image: 'busybox:1.35', command, readinessProbe: { tcpSocket: { port: 8080 }, ...steady }, ...container }] },
  },
});

/** MiniK8s acceptance, ReplicaSet and Deployment: the number is kept, whatever happens to the pods; roll-outs forth and back. */
whenDocker(describe)('replicas in a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two', 'three']);
  });
  afterAll(() => cluster?.stop());

  const podsOf = async (app: string): Promise<Pod[]> => (await cluster.get<{ items: Pod[] }>('pods', '-l', `app=${app}`)).items;
  const rolledOut = (what: string): Promise<string> => cluster.must(['rollout', 'status', what, '--timeout=60s'], { timeoutMs: 70_000 });
  const readyReplicas = (what: string, count: number): Promise<string> => cluster.must(['wait', `--for=jsonpath={.status.readyReplicas}=${count}`, what, '--timeout=60s'], { timeoutMs: 70_000 });
  /** What each pod says, asked at its own address from this machine. */
  const answers = async (app: string): Promise<string[]> =>
    Promise.all((await podsOf(app)).filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(async ({ status }) => (await (await fetch(`http://${status?.podIP}:8080/`)).text()).trim()));

  it('of a ReplicaSet are as many as are wanted, on all nodes, and made anew when one is deleted', async () => {
    await cluster.apply({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'plain' }, spec: specOf('plain', 3, server('plain')) });
    await readyReplicas('rs/plain', 3);
    const pods = await podsOf('plain');
    expect(pods.map(({ spec: { nodeName } }) => nodeName).sort()).toEqual(['one', 'three', 'two']);
    expect((await cluster.must(['get', 'rs', 'plain'])).trim().split('\n')).toEqual([expect.stringMatching(/^NAME +DESIRED +CURRENT +READY +AGE$/), expect.stringMatching(new RegExp(`^plain +3 +3 +3 +${age}$`))]);
    await cluster.must(['delete', 'pod', pods[0]!.metadata.name]);
    await readyReplicas('rs/plain', 3);
    expect((await podsOf('plain')).map(({ metadata }) => metadata.uid)).not.toContain(pods[0]!.metadata.uid);
    await cluster.must(['scale', 'rs', 'plain', '--replicas=5']);
    await readyReplicas('rs/plain', 5);
    expect(await answers('plain')).toEqual(['plain', 'plain', 'plain', 'plain', 'plain']);
    await cluster.must(['delete', 'rs', 'plain']);
    await eventually(async () => expect(await podsOf('plain')).toEqual([]), { within: 20_000 });
  });

  it('that take more memory than they may are killed for it, told of as OOMKilled, and come back', async () => {
    const work = join(cluster.folder, 'work');
    mkdirSync(work);
    // Serves until a file with its name appears, then takes memory until it is killed for it; its first process is there a little longer, for the daemon to hear why.
    const greedy = ['sh', '-c', 'mkdir /tmp/web; echo fine > /tmp/web/index.html; httpd -p 8080 -h /tmp/web; while [ ! -e /share/$HOSTNAME ]; do sleep 0.1; done; rm /share/$HOSTNAME; (x=x; while true; do x=$x$x$x$x; done); code=$?; sleep 2; exit $code'];
    const volumes = [{ name: 'work', hostPath: { path: work, type: 'Directory' } }];
    await cluster.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'greedy' }, spec: specOf('greedy', 2, greedy, { resources: { limits: { memory: '32Mi' } }, volumeMounts: [{ name: 'work', mountPath: '/share' }] }, { volumes }) });
    await rolledOut('deployment/greedy');
    const [victim] = await podsOf('greedy');
    const { name } = victim!.metadata;
    expect((await cluster.inspect(name, 'main')).HostConfig).toMatchObject({ Memory: 32 << 20 });
    writeFileSync(join(work, name), '');
    await eventually(async () => {
      const pod = await cluster.get<Pod>('pod', name);
      expect(pod.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true, state: { running: {} }, lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } });
    }, { within: 60_000 });
    await rolledOut('deployment/greedy');
    await eventually(async () => expect((await cluster.must(['get', 'deployment', 'greedy'])).trim().split('\n')[1]).toMatch(/^greedy +2\/2 +2 +2 /));
    expect((await cluster.must(['get', 'pod', name])).trim().split('\n')[1]).toMatch(new RegExp(`^${name} +1/1 +Running +1 \\(${age} ago\\) +${age}`));
    expect(await answers('greedy')).toEqual(['fine', 'fine']);
    // A pod whose containers are removed behind the cluster's back is noticed, too.
    const { Id } = await cluster.inspect(name, 'main');
    await cluster.docker.request('DELETE', `/containers/${Id}?force=1`);
    await eventually(async () => expect((await cluster.get<Pod>('pod', name)).status?.containerStatuses?.[0]).toMatchObject({ ready: true, containerID: expect.not.stringContaining(Id) }), { within: 30_000 });
  });

  it('of a Deployment roll to a new template without a gap, and back', async () => {
    const deployment = (text: string) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', annotations: { 'kubernetes.io/change-cause': `now ${text}` } }, spec: { ...specOf('web', 4, server(text)), strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } } });
    await cluster.apply(deployment('first'));
    await rolledOut('deployment/web');
    expect(await answers('web')).toEqual(['first', 'first', 'first', 'first']);

    let fewest = Infinity;
    const seen = new AbortController();
    const watching = (async () => {
      while (!seen.signal.aborted) fewest = Math.min(fewest, (await podsOf('web')).filter(({ status, metadata }) => metadata.deletionTimestamp === undefined && status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True')).length);
    })();
    await cluster.apply(deployment('second'));
    await rolledOut('deployment/web');
    seen.abort();
    await watching;
    expect(fewest).toBeGreaterThanOrEqual(4);
    expect(await answers('web')).toEqual(['second', 'second', 'second', 'second']);
    expect((await cluster.must(['rollout', 'history', 'deployment/web'])).trim().split('\n').slice(2)).toEqual([expect.stringMatching(/^1 +now first$/), expect.stringMatching(/^2 +now second$/)]);
    await cluster.must(['rollout', 'undo', 'deployment/web']);
    await rolledOut('deployment/web');
    expect(await answers('web')).toEqual(['first', 'first', 'first', 'first']);
    expect((await cluster.must(['rollout', 'history', 'deployment/web'])).trim().split('\n').slice(2).map((line) => line.split(/\s+/)[0])).toEqual(['2', '3']);
    await cluster.must(['scale', 'deployment/web', '--replicas=1']);
    await rolledOut('deployment/web');
    await eventually(async () => expect(await podsOf('web')).toHaveLength(1), { within: 20_000 });
  });

  it('of a lost node are made anew elsewhere, by their tolerations', async () => {
    const tolerations = ['not-ready', 'unreachable'].map((key) => ({ key: `node.kubernetes.io/${key}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 2 }));
    await cluster.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'moving' }, spec: specOf('moving', 3, server('moving'), {}, { tolerations }) });
    await rolledOut('deployment/moving');
    await cluster.kill(['agent-three']);
    await eventually(async () => {
      const ready = (await podsOf('moving')).filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True'));
      expect(ready.map(({ spec }) => spec.nodeName).filter((node) => node !== 'three')).toHaveLength(3);
      // Far less than the five minutes of who tolerates nothing himself.
    }, { within: 90_000 });
    cluster.restart(['agent-three']);
    await cluster.must(['wait', '--for=condition=Ready', 'node/three', '--timeout=60s']);
    // What was replaced meanwhile is ended there.
    await eventually(async () => {
      expect(await podsOf('moving')).toHaveLength(3);
      const labels = ((await cluster.docker.request('GET', '/containers/json')) as { Labels: Record<string, string> }[]).filter(({ Labels }) => Object.values(Labels).some((value) => value.startsWith('moving-')));
      expect(new Set(labels.flatMap(({ Labels }) => Object.values(Labels).filter((value) => value.startsWith('moving-')))).size).toBe(3);
    }, { within: 30_000 });
    expect(cluster.dead()).toEqual([]);
  });
});
