import { describe, expect, it } from '@jest/globals';
import type { PodDisruptionBudget } from '@roundsman/api';
import { ClusterState } from '../cluster/state.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { cluster, info, nodeWith, type PodParts } from '../testing/objects.ts';
import { decide } from './decide.ts';
import { preempt, type Preemption } from './preempt.ts';

const important: PodParts = { priority: 100, requests: { cpu: '3' } };
const running = (name: string, priority: number, cpu: string, parts: PodParts = {}): PodInfo => info(name, { priority, requests: { cpu }, status: { startTime: '2026-01-01T00:00:00Z' }, ...parts });
const budget = (allowed: number, labels: Record<string, string>, disruptedPods?: Record<string, string>): PodDisruptionBudget =>
  ({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'b', namespace: 'default' }, spec: { selector: { matchLabels: labels } }, status: { disruptionsAllowed: allowed, disruptedPods } }) as unknown as PodDisruptionBudget;

function tried(pod: PodInfo, nodes: readonly NodeInfo[], budgets: PodDisruptionBudget[] = []): Preemption {
  const where = cluster(nodes);
  const nominated = (): PodInfo[] => [];
  const decision = decide(pod, where, { nominated, random: () => 0 });
  if (decision.node !== undefined) throw new Error('it fits');
  return preempt(pod, where, decision.refusals, { budgets, nominated });
}
const outcome = (...args: Parameters<typeof tried>): string => {
  const found = tried(...args);
  return found.eviction === undefined ? found.why : `${found.eviction.node}: ${found.eviction.victims.map(({ name }) => name).join(', ')}`;
};

describe('preemption', () => {
  it('ends as few less important pods as it takes, sparing the most important', () => {
    expect(outcome(info('p', important), [nodeWith('n', [running('low', 1, '2'), running('lower', 0, '1'), running('lowest', -1, '1')])])).toBe('n: low, lowest');
    expect(outcome(info('p', { ...important, requests: { cpu: '2' } }), [nodeWith('n', [running('low', 1, '2'), running('lower', 0, '2')])])).toBe('n: lower');
  });

  it('says why there are no victims', () => {
    const nodes = [nodeWith('a', [running('same', 100, '4')]), nodeWith('b', [], { unschedulable: true }), nodeWith('c', [running('x', 0, '3'), running('same', 100, '1')], { allocatable: { memory: '1Gi' } })];
    expect(outcome(info('p', { ...important, requests: { cpu: '3', memory: '2Gi' } }), nodes)).toBe(
      '0/3 nodes are available: 1 Insufficient memory, 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
    );
  });

  it('is not for pods that never preempt', () => {
    expect(outcome(info('p', { ...important, preemptionPolicy: 'Never' }), [nodeWith('n', [running('low', 0, '4')])])).toBe('not eligible due to preemptionPolicy=Never.');
  });

  it('waits while victims of an earlier one are on their way out', () => {
    const target = [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] as const;
    const going = running('low', 0, '4', { terminating: true, status: { conditions: [...target] } });
    const nominee = info('p', { ...important, status: { nominatedNodeName: 'n' } });
    expect(tried(nominee, [nodeWith('n', [going])])).toEqual({ why: 'not eligible due to a terminating pod on the nominated node.', waits: true });
    // What ends for other reasons does not hold it up.
    expect(outcome(nominee, [nodeWith('n', [running('low', 0, '4', { terminating: true })])])).toBe('n: low');
    // The node it waited for is of no use any more.
    expect(outcome(nominee, [nodeWith('n', [going], { unschedulable: true }), nodeWith('m', [running('other', 0, '4')])])).toBe('m: other');
  });

  it('respects disruption budgets where it can', () => {
    const web = { app: 'web' };
    const nodes = [nodeWith('a', [running('web-1', 0, '4', { labels: web })]), nodeWith('b', [running('db', 50, '4')])];
    expect(outcome(info('p', important), nodes)).toBe('a: web-1');
    expect(outcome(info('p', important), nodes, [budget(1, web)])).toBe('a: web-1');
    expect(outcome(info('p', important), nodes, [budget(0, web)])).toBe('b: db');
    expect(outcome(info('p', important), nodes, [budget(0, web, { 'web-1': '2026-01-01T00:00:00Z' })])).toBe('a: web-1');
    expect(outcome(info('p', important), nodes, [budget(0, {})])).toBe('a: web-1');
    // Better one beyond its budget than none.
    expect(outcome(info('p', important), nodes.slice(0, 1), [budget(0, web)])).toBe('a: web-1');
    // On one node, those within their budget go first.
    expect(outcome(info('p', { ...important, requests: { cpu: '2' } }), [nodeWith('a', [running('web-1', 0, '2', { labels: web }), running('db', 50, '2')])], [budget(0, web)])).toBe('a: db');
  });

  it('chooses the node by: least important victims, fewest, youngest', () => {
    expect(outcome(info('p', important), [nodeWith('a', [running('x', 10, '4')]), nodeWith('b', [running('y', 5, '2'), running('z', 5, '2')])])).toBe('b: y, z');
    expect(outcome(info('p', important), [nodeWith('a', [running('x', 5, '2'), running('x2', 5, '2')]), nodeWith('b', [running('y', 5, '4')])])).toBe('b: y');
    const later = running('y', 5, '4', { status: { startTime: '2026-01-01T01:00:00Z' } });
    expect(outcome(info('p', important), [nodeWith('a', [running('x', 5, '4')]), nodeWith('b', [later])])).toBe('b: y');
  });

  it('makes room for anti-affinity and ports, too', () => {
    const alone = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'noise' } } }] } };
    expect(outcome(info('p', { priority: 1, affinity: alone }), [nodeWith('n', [running('noise', 0, '1', { labels: { app: 'noise' } }), running('calm', 0, '1')])])).toBe('n: noise');
    const port = [{ containerPort: 80, hostPort: 80, protocol: 'TCP' as const }];
    expect(outcome(info('p', { priority: 1, ports: port }), [nodeWith('n', [running('other', 0, '1', { ports: port }), running('calm', 0, '1')])])).toBe('n: other');
  });

  it('leaves the cluster as it was', () => {
    const state = new ClusterState(cluster([]));
    state.setNode(nodeWith('n').node);
    state.place(running('low', 0, '4'), 'n');
    tried(info('p', important), state.nodes);
    expect([...state.nodes[0]!.pods.values()].map(({ name }) => name)).toEqual(['low']);
    expect(state.nodes[0]!.requested.get('cpu')).toBe(4000);
  });
});
