import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HorizontalPodAutoscaler, KubeObject, Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { SmallCluster } from './small-cluster.ts';

const periodSeconds = 6;

/** MiniK8s acceptance, autoscaling: pods that burn processor time become more, to the most, and fewer again, to the least, as fast as the policy says. */
whenDocker(describe)('autoscaling in a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two'], { settings: { ROUNDSMAN_CONTROLLERS_AUTOSCALER_INTERVAL_MS: '1000' } });
  });
  afterAll(() => cluster?.stop());

  it('follows the load up and down at the speed of its policies', async () => {
    const work = join(cluster.folder, 'work');
    const burn = join(work, 'burn');
    mkdirSync(work);
    // Says its name, and burns processor time, as much as it may have, while the file is there.
    const command = ['sh', '-c', 'mkdir /tmp/www; hostname > /tmp/www/index.html; httpd -p 8080 -h /tmp/www; while true; do [ -e /share/burn ] || sleep 0.2; done'];
    const container = { name: 'main', image: 'busybox:1.35', command, resources: { requests: { cpu: '100m', memory: '8Mi' }, limits: { cpu: '200m' } }, volumeMounts: [{ name: 'work', mountPath: '/share' }] };
    await cluster.apply({
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'load' },
      spec: { replicas: 1, selector: { matchLabels: { app: 'load' } }, template: { metadata: { labels: { app: 'load' } }, spec: { terminationGracePeriodSeconds: 0, volumes: [{ name: 'work', hostPath: { path: work, type: 'Directory' } }], containers: [container] } } },
    }, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'client' }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.35', command: ['sleep', '3600'] }] } });
    await cluster.must(['expose', 'deployment', 'load', '--port=80', '--target-port=8080']);
    expect(await cluster.must(['autoscale', 'deployment', 'load', '--min=1', '--max=3', '--cpu-percent=50'])).toContain('horizontalpodautoscaler.autoscaling/load autoscaled');
    const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } };
    const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '256Mi' } } };
    const one = { policies: [{ type: 'Pods', value: 1, periodSeconds }] };
    await cluster.must(['patch', 'hpa', 'load', '--type=merge', '-p', JSON.stringify({ spec: { metrics: [cpu, memory], behavior: { scaleUp: one, scaleDown: { ...one, stabilizationWindowSeconds: 2 } } } })]);
    writeFileSync(burn, '');

    const reaches = (count: number): Promise<string> => cluster.must(['wait', `--for=jsonpath={.spec.replicas}=${count}`, 'deployment/load', '--timeout=90s'], { timeoutMs: 100_000 });
    /** Sizes that it was given, and when, as the autoscaler tells: who waits for one may come late to it. */
    const sizes = async (): Promise<{ size: number; atMs: number }[]> => {
      const { items } = await cluster.get<{ items: (KubeObject & { message: string; firstTimestamp: string })[] }>('events', '--field-selector', 'involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name=load,reason=SuccessfulRescale');
      return items.map(({ message, firstTimestamp }) => ({ size: Number(/^New size: (\d+);/.exec(message)?.[1]), atMs: Date.parse(firstTimestamp) })).sort((a, b) => a.atMs - b.atMs);
    };
    /** One by one, and not sooner after each other than the policy says: times of events are whole seconds. */
    const atSpeed = async (...wanted: number[]): Promise<void> => {
      const told = await eventually(async () => {
        const last = (await sizes()).slice(-wanted.length);
        expect(last.map(({ size }) => size)).toEqual(wanted);
        return last;
      });
      for (const [index, { atMs }] of told.slice(1).entries()) expect(atMs - told[index]!.atMs).toBeGreaterThanOrEqual((periodSeconds - 1) * 1000);
    };

    await reaches(3);
    await atSpeed(2, 3);
    await eventually(async () => expect((await cluster.must(['get', 'hpa', 'load'])).trim().split('\n').map((line) => line.replaceAll(/ {2,}/g, '|'))).toEqual([
      'NAME|REFERENCE|TARGETS|MINPODS|MAXPODS|REPLICAS|AGE', expect.stringMatching(/^load\|Deployment\/load\|cpu: \d+%\/50%, memory: \d+m?\/256Mi\|1\|3\|3\|\d+[ms]\S*$/),
    ]), { within: 30_000 });
    await eventually(async () => expect(await cluster.must(['top', 'pod', '-l', 'app=load'])).toMatch(/^load-\S+ +\d{2,3}m +\d+Mi/m));

    // They are on all nodes, and the Service leads to every one of them.
    const pods = await eventually(async () => {
      const { items } = await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=load');
      expect([items.length, new Set(items.map(({ spec }) => spec.nodeName))]).toEqual([3, new Set(['one', 'two'])]);
      return items;
    });
    await eventually(async () => {
      const { spec } = await cluster.get<{ spec: { clusterIP: string } }>('service', 'load');
      const said = await cluster.must(['exec', 'client', '--', 'sh', '-c', `for i in $(seq 20); do timeout 20 wget -qO- http://${spec.clusterIP}/; done`]);
      expect(new Set(said.trim().split('\n'))).toEqual(new Set(pods.map(({ metadata }) => metadata.name)));
    }, { within: 60_000 });

    rmSync(burn);
    await reaches(1);
    await atSpeed(3, 2, 1);
    await eventually(async () => expect((await cluster.get<HorizontalPodAutoscaler>('hpa', 'load')).status).toMatchObject({ currentReplicas: 1, desiredReplicas: 1 }), { within: 30_000 });
    // While a node is not heard, what its pods use is not known for a moment.
    await eventually(async () => {
      const described = await cluster.must(['describe', 'hpa', 'load']);
      expect(described).toMatch(/Reference: +Deployment\/load/);
      expect(described).toMatch(/resource cpu on pods +\(as a percentage of request\): +\d+% \(\d+m?\) \/ 50%/);
      expect(described).toMatch(/Normal +SuccessfulRescale .*New size: 3; reason: cpu resource utilization \(percentage of request\) above target/);
      expect(described).toMatch(/Normal +SuccessfulRescale .*New size: 1; reason: All metrics below target/);
    }, { within: 30_000 });
    const v1 = await cluster.get<{ spec: object; metadata: { annotations: Record<string, string> } }>('horizontalpodautoscalers.v1.autoscaling', 'load');
    expect(v1.spec).toMatchObject({ targetCPUUtilizationPercentage: 50 });
    expect(JSON.parse(v1.metadata.annotations['autoscaling.alpha.kubernetes.io/behavior']!)).toMatchObject({ ScaleDown: { StabilizationWindowSeconds: 2 } });
    expect(cluster.dead()).toEqual([]);
  });
});
