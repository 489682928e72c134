import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Deployment, Pod, PodDisruptionBudget } from '@roundsman/api';
import { TestCluster } from '../testing/cluster.ts';
import { needs, outstanding } from './budget.ts';

const budgetOf = (spec: object): PodDisruptionBudget => ({ spec }) as unknown as PodDisruptionBudget;

describe('what a budget needs', () => {
  it('is counted from what the controllers of its pods want', () => {
    const scale = (): number => 7;
    expect(needs(budgetOf({ minAvailable: 2 }), 5, scale)).toEqual({ expected: 5, desired: 2 });
    expect(needs(budgetOf({ minAvailable: '50%' }), 5, scale)).toEqual({ expected: 7, desired: 4 });
    expect(needs(budgetOf({ maxUnavailable: 1 }), 5, scale)).toEqual({ expected: 7, desired: 6 });
    expect(needs(budgetOf({ maxUnavailable: '30%' }), 5, scale)).toEqual({ expected: 7, desired: 4 });
    expect(needs(budgetOf({ maxUnavailable: 9 }), 5, scale)).toEqual({ expected: 7, desired: 0 });
  });

  it('remembers evictions until the pod begins to end, two minutes at most', () => {
    const pod = (name: string, deletionTimestamp?: string): Pod => ({ metadata: { name, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) } }) as unknown as Pod;
    const now = Date.parse('2026-01-01T00:05:00Z');
    const disrupted = { young: '2026-01-01T00:04:00Z', old: '2026-01-01T00:02:00Z', ending: '2026-01-01T00:04:00Z', gone: '2026-01-01T00:04:00Z' };
    const { waiting, overdue } = outstanding(disrupted, [pod('young'), pod('old'), pod('ending', '2026-01-01T00:04:30Z'), pod('other')], now);
    expect(waiting).toEqual({ young: '2026-01-01T00:04:00Z' });
    expect(overdue.map(({ metadata }) => metadata.name)).toEqual(['old']);
  });
});

describe('a disruption budget', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    cluster.nodes.join('n1');
  });
  afterAll(() => cluster.stop());

  const labels = { app: 'db' };
  const status = async (): Promise<object> => {
    const { conditions, ...counts } = (await cluster.get<PodDisruptionBudget>('poddisruptionbudgets.policy', 'db'))!.status!;
    return { ...counts, condition: conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`) };
  };

  it('allows as many evictions as its pods can spare, and no more when several ask at once', async () => {
    await cluster.create<Deployment>({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'db' }, spec: { replicas: 4, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x' }] } } } });
    const budget = await cluster.create<PodDisruptionBudget>({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'db' }, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } });
    await cluster.until(async () => expect(await status()).toEqual({ observedGeneration: budget.metadata.generation, expectedPods: 4, currentHealthy: 4, desiredHealthy: 3, disruptionsAllowed: 1, condition: ['DisruptionAllowed True SufficientPods'] }));
    cluster.nodes.fate = () => 'hangs';
    const pods = await cluster.readyPods();
    const outcomes = await Promise.allSettled(pods.map(({ metadata }) => cluster.write({ operation: 'evict', resource: 'pods', namespace: 'default', name: metadata.name })));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    await cluster.until(async () => expect(await status()).toMatchObject({ currentHealthy: 3, desiredHealthy: 3, disruptionsAllowed: 0, condition: ['DisruptionAllowed False InsufficientPods'] }));
    cluster.nodes.fate = () => 'runs';
    cluster.nodes.rejoin('n1');
    await cluster.until(async () => expect(await status()).toMatchObject({ currentHealthy: 4, disruptionsAllowed: 1 }));
    await cluster.edit<Deployment>('deployments.apps', 'db', ({ spec }) => void (spec.replicas = 5));
    await cluster.until(async () => expect(await status()).toMatchObject({ expectedPods: 5, currentHealthy: 5, desiredHealthy: 4, disruptionsAllowed: 1 }));
  });

  it('allows none when it cannot count: pods of controllers without a number', async () => {
    await cluster.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'owned', labels: { app: 'agent' }, ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'u', controller: true }] }, spec: { containers: [{ name: 'c', image: 'x' }] } });
    await cluster.create<PodDisruptionBudget>({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'agents' }, spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'agent' } } } });
    await cluster.until(async () => {
      const stored = await cluster.get<PodDisruptionBudget>('poddisruptionbudgets.policy', 'agents');
      expect(stored?.status).toMatchObject({ disruptionsAllowed: 0, conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'widgets.example.com does not implement the scale subresource' }] });
      expect(await cluster.events(stored!)).toContainEqual(expect.stringContaining('CalculateExpectedPodCountFailed'));
    });
  });
});
