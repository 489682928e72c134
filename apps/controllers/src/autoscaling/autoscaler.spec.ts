import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Deployment, EventObject, HorizontalPodAutoscaler, KubeObject, Pod } from '@roundsman/api';
import type { Subscription } from '@roundsman/bus';
import { TestCluster } from '../testing/cluster.ts';
import { answerStats, type Use } from '../testing/fake-stats.ts';

const resource = 'horizontalpodautoscalers.autoscaling';
const quick = { scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 10, periodSeconds: 1 }] }, scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 10, periodSeconds: 1 }] } };

describe('the autoscaler', () => {
  let cluster: TestCluster;
  let agent: Subscription;
  /** By the label `app` of the pods. */
  const uses = new Map<string, (pod: Pod) => Use | undefined>();
  beforeAll(async () => {
    cluster = await TestCluster.start({ ROUNDSMAN_CONTROLLERS_AUTOSCALER_INTERVAL_MS: '150' });
    cluster.nodes.join('n1');
    agent = await answerStats(cluster.bus, 'n1', cluster.nodes.pods, (pod) => uses.get(pod.metadata.labels?.['app'] ?? '')?.(pod));
  });
  afterAll(async () => {
    await agent?.stop();
    await cluster?.stop();
  });

  const deployment = (name: string, replicas: number, requests: object = { cpu: '100m' }): Promise<Deployment> =>
    cluster.create({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'x', resources: { requests } }] } } } });
  const autoscaler = (name: string, spec: object, target: object = { apiVersion: 'apps/v1', kind: 'Deployment', name }): Promise<HorizontalPodAutoscaler> =>
    cluster.create({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name }, spec: { scaleTargetRef: target, maxReplicas: 5, ...spec } });
  const cpu = (averageUtilization: number) => ({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } });
  const replicasOf = async (name: string): Promise<number | undefined> => (await cluster.get<Deployment>('deployments.apps', name))?.spec.replicas;
  const stateOf = async (name: string) => {
    const found = await cluster.get<HorizontalPodAutoscaler>(resource, name);
    return { ...found?.status, conditions: found?.status?.conditions?.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`) };
  };
  const told = async (name: string): Promise<string[]> => cluster.events((await cluster.get<KubeObject>(resource, name)) as KubeObject);

  /** Events come by another way than the status. */
  const tells = (name: string, text: string): Promise<void> => cluster.until(async () => expect(await told(name)).toContain(text));

  it('adds pods while they use more than the target, to the most, and takes them away to the least', async () => {
    let use = 200;
    uses.set('web', () => ({ cpuMillis: use }));
    await deployment('web', 1);
    const { metadata } = await autoscaler('web', { metrics: [cpu(50)], behavior: quick });
    await cluster.until(async () => expect(await replicasOf('web')).toBe(5));
    await cluster.until(async () => expect(await stateOf('web')).toMatchObject({
      observedGeneration: metadata.generation, currentReplicas: 5, desiredReplicas: 5, lastScaleTime: expect.any(String),
      currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 200, averageValue: '200m' } } }],
      conditions: [
        'AbleToScale True ReadyForNewScale: recommended size matches current size',
        'ScalingActive True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)',
        'ScalingLimited True TooManyReplicas: the desired replica count is more than the maximum replica count',
      ],
    }));
    await tells('web', 'SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target');
    // Near enough to the target nothing changes.
    use = 54;
    await cluster.until(async () => expect(await stateOf('web')).toMatchObject({ currentMetrics: [{ resource: { current: { averageUtilization: 54 } } }], desiredReplicas: 5 }));
    expect(await replicasOf('web')).toBe(5);
    use = 0;
    await cluster.until(async () => expect(await replicasOf('web')).toBe(1));
    await tells('web', 'SuccessfulRescale: New size: 1; reason: All metrics below target');
    await cluster.until(async () => expect((await stateOf('web')).conditions).toContainEqual('ScalingLimited True TooFewReplicas: the desired replica count is less than the minimum replica count'));
  });

  it('looks at once when its bounds change, and leaves alone what was scaled to nothing', async () => {
    uses.set('bounds', () => ({ cpuMillis: 50 }));
    await deployment('bounds', 2);
    await autoscaler('bounds', { metrics: [cpu(50)] });
    await cluster.until(async () => expect(await stateOf('bounds')).toMatchObject({ currentReplicas: 2, desiredReplicas: 2 }));
    await cluster.edit<HorizontalPodAutoscaler>(resource, 'bounds', ({ spec }) => void (spec.minReplicas = 3));
    await cluster.until(async () => expect(await replicasOf('bounds')).toBe(3));
    await tells('bounds', 'SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas');
    await cluster.edit<HorizontalPodAutoscaler>(resource, 'bounds', ({ spec }) => void Object.assign(spec, { minReplicas: 1, maxReplicas: 2 }));
    await cluster.until(async () => expect(await replicasOf('bounds')).toBe(2));
    await cluster.edit<Deployment>('deployments.apps', 'bounds', ({ spec }) => void (spec.replicas = 0));
    await cluster.until(async () => expect(await stateOf('bounds')).toMatchObject({ desiredReplicas: 0, currentMetrics: null, conditions: expect.arrayContaining(['ScalingActive False ScalingDisabled: scaling is disabled since the replica count of the target is zero']) }));
    expect(await replicasOf('bounds')).toBe(0);
  });

  it('keeps to the speed of its policies, and to its window before it takes away', async () => {
    let use = 500;
    uses.set('slow', () => ({ cpuMillis: use }));
    await deployment('slow', 1);
    const behavior = { scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 4 }] }, scaleDown: { stabilizationWindowSeconds: 3, policies: [{ type: 'Pods', value: 2, periodSeconds: 1 }] } };
    await autoscaler('slow', { maxReplicas: 3, metrics: [cpu(50)], behavior });
    /** Seconds, in which events are told. */
    const scaledAt = (count: number): Promise<number> => cluster.until(async () => {
      const { metadata } = (await cluster.get<KubeObject>(resource, 'slow'))!;
      const found = (await cluster.list<EventObject & KubeObject>('events')).find(({ involvedObject, message }) => involvedObject.uid === metadata.uid && message.startsWith(`New size: ${count}; `));
      expect(found).toBeDefined();
      return Date.parse(found!.firstTimestamp) / 1000;
    });
    const second = await scaledAt(2);
    await cluster.until(async () => expect((await stateOf('slow')).conditions).toContainEqual('ScalingLimited True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate'));
    expect((await scaledAt(3)) - second).toBeGreaterThanOrEqual(4);
    use = 0;
    await cluster.until(async () => expect((await stateOf('slow')).conditions).toContainEqual('AbleToScale True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation'));
    await cluster.until(async () => expect(await replicasOf('slow')).toBe(1));
  });

  it('says what it cannot compute, in the words of Kubernetes', async () => {
    uses.set('bare', () => ({ cpuMillis: 100 }));
    await deployment('bare', 1, {});
    await autoscaler('bare', { metrics: [cpu(50)] });
    await cluster.until(async () => {
      const [pod] = (await cluster.list<Pod>('pods')).filter(({ metadata }) => metadata.labels?.['app'] === 'bare');
      const why = `failed to get cpu utilization: missing request for cpu in container main of Pod ${pod!.metadata.name}`;
      expect(await stateOf('bare')).toMatchObject({ currentReplicas: 1, currentMetrics: [{ type: '' }], conditions: ["AbleToScale True SucceededGetScale: the HPA controller was able to get the target's current scale", `ScalingActive False FailedGetResourceMetric: the HPA was unable to compute the replica count: ${why}`] });
      expect(await told('bare')).toEqual(expect.arrayContaining([`FailedGetResourceMetric: ${why}`, `FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${why}`]));
    });
    await autoscaler('nothing', {}, { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nothing' });
    await autoscaler('strange', {}, { apiVersion: 'example.com/v1', kind: 'Widget', name: 'w' });
    await autoscaler('pod', {}, { apiVersion: 'v1', kind: 'Pod', name: 'p' });
    const unable = (why: string): string => `AbleToScale False FailedGetScale: the HPA controller was unable to get the target's current scale: ${why}`;
    await cluster.until(async () => {
      expect((await stateOf('nothing')).conditions).toEqual([unable('deployments/scale.apps "nothing" not found')]);
      expect((await stateOf('strange')).conditions).toEqual([unable('no matches for kind "Widget" in group "example.com"')]);
      expect((await stateOf('pod')).conditions).toEqual([unable('the server could not find the requested resource (get pods p, subresource scale): a Pod has no number of replicas; name a Deployment, ReplicaSet or StatefulSet')]);
      expect(await told('nothing')).toEqual(['FailedGetScale: deployments/scale.apps "nothing" not found']);
    });
  });

  it('does not scale the same pods twice, and scales up, never down, by the metrics that can be read', async () => {
    uses.set('both', () => ({ cpuMillis: 200, memoryBytes: 10 << 20 }));
    await deployment('both', 2, { cpu: '100m', memory: '20Mi' });
    const pods = { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '5' } } };
    const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '20Mi' } } };
    await autoscaler('both', { metrics: [memory, pods], behavior: quick });
    const blocked = 'ScalingActive False FailedGetPodsMetric: the HPA was unable to compute the replica count: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';
    await cluster.until(async () => expect(await stateOf('both')).toMatchObject({ currentMetrics: [{ type: 'Resource', resource: { name: 'memory', current: { averageValue: String(10 << 20) } } }, { type: '' }], conditions: expect.arrayContaining([blocked]) }));
    expect(await replicasOf('both')).toBe(2);
    await cluster.edit<HorizontalPodAutoscaler>(resource, 'both', ({ spec }) => void (spec.metrics = [pods, cpu(100)]));
    await cluster.until(async () => expect(await replicasOf('both')).toBe(5));
    await autoscaler('other', {}, { apiVersion: 'apps/v1', kind: 'Deployment', name: 'both' });
    const ambiguous = 'ScalingActive False AmbiguousSelector: pods by selector app=both are controlled by multiple HPAs: [{both default} {other default}]';
    await cluster.until(async () => {
      expect((await stateOf('both')).conditions).toContainEqual(ambiguous);
      expect((await stateOf('other')).conditions).toContainEqual(ambiguous);
    });
  });

  it('takes nothing away at once when another instance begins to lead', async () => {
    uses.set('taken', () => ({ cpuMillis: 0 }));
    await deployment('taken', 4);
    await autoscaler('taken', { metrics: [cpu(50)] });
    const held = 'AbleToScale True ScaleDownStabilized: recent recommendations were higher than current one, applying the highest recent recommendation';
    await cluster.until(async () => expect((await stateOf('taken')).conditions).toContainEqual(held));
    await cluster.startControllers({ ROUNDSMAN_CONTROLLERS_AUTOSCALER_INTERVAL_MS: '150' });
    await cluster.stopControllers();
    // The new leader has looked at it: the edit is answered.
    const { metadata } = await cluster.edit<HorizontalPodAutoscaler>(resource, 'taken', ({ spec }) => void (spec.maxReplicas = 6));
    await cluster.until(async () => expect(await stateOf('taken')).toMatchObject({ observedGeneration: metadata.generation, desiredReplicas: 4, conditions: expect.arrayContaining([held]) }));
    expect(await replicasOf('taken')).toBe(4);
  });
});
