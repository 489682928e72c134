import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { KubectlCluster, type Ran } from './kubectl-cluster.ts';

interface Stored {
  apiVersion: string;
  metadata: { annotations?: Record<string, string>; resourceVersion: string; generation: number; managedFields?: { manager: string; apiVersion: string; fieldsV1: object }[] };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}

/** Autoscalers with the real kubectl: both versions of one object. */
describe('kubectl and autoscalers', () => {
  let cluster: KubectlCluster;
  beforeAll(async () => {
    cluster = await KubectlCluster.start();
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
    await cluster.must(['apply', '-f', '-'], { input: stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { selector: { matchLabels: { app: 'web' } }, template } }) });
  });
  afterAll(() => cluster?.stop());

  // kubectl forgets the version that stands behind a short name.
  const get = async (name: string, version = 'v2'): Promise<Stored> => JSON.parse(await cluster.must(['get', `horizontalpodautoscalers.${version}.autoscaling`, name, '-o', 'json', '--show-managed-fields'])) as Stored;
  const apply = (object: object, ...flags: string[]): Promise<Ran> => cluster.kubectl(['apply', '-f', '-', ...flags], { input: stringify(object) });
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const key = (name: string): string => `autoscaling.alpha.kubernetes.io/${name}`;
  const cpu = (averageUtilization: number) => ({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } });

  it('are made by `kubectl autoscale`, and shown as in Kubernetes', async () => {
    const { code, stdout, stderr } = await cluster.kubectl(['autoscale', 'deployment', 'web', '--min=2', '--max=5', '--cpu-percent=60', '-v=8']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'horizontalpodautoscaler.autoscaling/web autoscaled\n' });
    expect(stderr).toMatch(/Content-Type: application\/vnd\.kubernetes\.protobuf/);
    expect(await get('web')).toMatchObject({ apiVersion: 'autoscaling/v2', metadata: { generation: 1 }, spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5, metrics: [cpu(60)] }, status: { desiredReplicas: 0, currentMetrics: null } });
    expect(await get('web', 'v1')).toMatchObject({ apiVersion: 'autoscaling/v1', spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5, targetCPUUtilizationPercentage: 60 }, status: { currentReplicas: 0, desiredReplicas: 0 } });
    for (const what of ['hpa', 'horizontalpodautoscalers.v1.autoscaling']) {
      const lines = (await cluster.must(['get', what])).trim().split('\n').map((line) => line.replaceAll(/ {2,}/g, '|'));
      expect(lines).toEqual(['NAME|REFERENCE|TARGETS|MINPODS|MAXPODS|REPLICAS|AGE', expect.stringMatching(/^web\|Deployment\/web\|cpu: <unknown>\/60%\|2\|5\|0\|\d+[ms]\S*$/)]);
    }
    expect(await cluster.must(['describe', 'hpa', 'web'])).toMatch(/resource cpu on pods +\(as a percentage of request\): +<unknown> \/ 60%/);
    expect(await cluster.must(['get', 'all'])).toContain('horizontalpodautoscaler.autoscaling/web');
  });

  it('are explained in both versions, v2 first', async () => {
    expect(await cluster.must(['explain', 'hpa'])).toMatch(/GROUP: +autoscaling\nKIND: +HorizontalPodAutoscaler\nVERSION: +v2\n/);
    expect(await cluster.must(['explain', 'hpa.spec.behavior.scaleDown.policies'])).toMatch(/periodSeconds\t<integer> -required-/);
    expect(await cluster.must(['explain', 'hpa.spec.targetCPUUtilizationPercentage', '--api-version=autoscaling/v1'])).toMatch(/VERSION: +v1\n\nFIELD: targetCPUUtilizationPercentage <integer>/);
    expect((await cluster.must(['api-resources', '--api-group=autoscaling'])).replaceAll(/ {2,}/g, '|')).toContain('horizontalpodautoscalers|hpa|autoscaling/v2|true|HorizontalPodAutoscaler');
  });

  it('keep through v1 what only v2 can say', async () => {
    const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
    expect(await apply({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'two' }, spec: { scaleTargetRef, maxReplicas: 4, metrics: [cpu(50), { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '500m' } } }], behavior } })).toMatchObject({ code: 0 });
    const shown = await get('two', 'v1');
    expect(shown.spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 4, targetCPUUtilizationPercentage: 50 });
    expect(shown.metadata.annotations).toMatchObject({ [key('metrics')]: '[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"500m"}}]', [key('behavior')]: expect.stringContaining('"StabilizationWindowSeconds":60') });
    await cluster.must(['patch', 'horizontalpodautoscalers.v1.autoscaling', 'two', '--type=merge', '-p', '{"spec":{"targetCPUUtilizationPercentage":70}}']);
    const { metadata, spec } = await get('two');
    expect(spec).toMatchObject({ maxReplicas: 4, metrics: [{ type: 'Pods' }, cpu(70)], behavior });
    expect(Object.keys(metadata.annotations ?? {})).toEqual(['kubectl.kubernetes.io/last-applied-configuration']);
    // An annotation is as good as the member of v2.
    await cluster.must(['annotate', 'horizontalpodautoscalers.v1.autoscaling', 'two', '--overwrite', `${key('metrics')}=[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"10Mi"}}]`]);
    expect((await get('two')).spec['metrics']).toEqual([{ type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '10Mi' } } }, cpu(70)]);
  });

  it('are applied on the server in either version, and patched', async () => {
    const object = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'ssa' }, spec: { scaleTargetRef, maxReplicas: 4, metrics: [cpu(50)] } };
    expect(await apply(object, '--server-side', '--field-manager=me')).toMatchObject({ code: 0 });
    const { metadata } = await get('ssa');
    expect(await apply(object, '--server-side', '--field-manager=me')).toMatchObject({ code: 0 });
    expect((await get('ssa')).metadata.resourceVersion).toBe(metadata.resourceVersion);
    const v1 = { apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler', metadata: { name: 'ssa' }, spec: { maxReplicas: 9 } };
    expect(await apply(v1, '--server-side', '--field-manager=you')).toMatchObject({ code: 1, stderr: expect.stringContaining('conflict with "me": .spec.maxReplicas') });
    await cluster.must(['patch', 'horizontalpodautoscalers.v1.autoscaling', 'ssa', '--type=json', '-p', '[{"op":"replace","path":"/spec/maxReplicas","value":6}]', '--field-manager=third']);
    const patched = await get('ssa');
    expect(patched.spec).toMatchObject({ maxReplicas: 6, metrics: [cpu(50)] });
    // What was applied in v2 is still owned, but for what was patched.
    expect(patched.metadata.managedFields?.find(({ manager }) => manager === 'me')?.fieldsV1).toMatchObject({ 'f:spec': { 'f:metrics': {}, 'f:scaleTargetRef': {} } });
    expect(patched.metadata.managedFields?.find(({ manager }) => manager === 'me')?.fieldsV1).not.toHaveProperty(['f:spec', 'f:maxReplicas']);
  });

  it('that are wrong are refused with all causes', async () => {
    const wrong = await apply({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'wrong' }, spec: { scaleTargetRef: { kind: 'Deployment' }, minReplicas: 3, maxReplicas: 2, metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization' } } }] } });
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain(
      'The HorizontalPodAutoscaler "wrong" is invalid: \n* spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`\n* spec.scaleTargetRef.name: Required value\n* spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    );
    const v1 = await apply({ apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler', metadata: { name: 'wrong' }, spec: { scaleTargetRef, maxReplicas: 1, targetCPUUtilizationPercentage: 0 } });
    expect(v1.stderr).toContain('spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0');
  });
});
