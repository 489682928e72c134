import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../cluster/cluster.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { cluster, info, nodeWith } from '../testing/objects.ts';
import { decide, type Decision } from './decide.ts';
import { unavailable } from './explain.ts';

const options = { nominated: () => [], random: () => 0 };
const explained = (decision: Decision, nodes: number): string => (decision.node !== undefined ? decision.node.name : unavailable(nodes, [...decision.refusals.values()].map(({ reasons }) => reasons)));
const explain = (pod: PodInfo, where: Cluster): string => explained(decide(pod, where, options), where.nodes.length);

describe('a decision', () => {
  it('counts the reasons and sorts them as text, as Kubernetes does', () => {
    const full = info('full', { requests: { cpu: '4', memory: '8Gi' } });
    const nodes = [
      nodeWith('a', [full]),
      nodeWith('b', [], { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
      nodeWith('c', [], { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
    ];
    expect(explain(info('p', { requests: { cpu: '1' } }), cluster(nodes))).toBe('0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {gpu: yes}.');
    const many = Array.from({ length: 10 }, (_, index) => nodeWith(`n${index}`, [], { unschedulable: true }));
    expect(explain(info('p', { requests: { cpu: '1', memory: '1Gi' } }), cluster([...many, nodes[0]!]))).toBe('0/11 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 10 node(s) were unschedulable.');
  });

  it('is for the node that is best', () => {
    expect(explain(info('p', { requests: { cpu: '1' } }), cluster([nodeWith('busy', [info('x', { requests: { cpu: '2', memory: '4Gi' } })]), nodeWith('idle')]))).toBe('idle');
  });

  it('breaks ties at random', () => {
    const nodes = ['a', 'b', 'c'].map((name) => nodeWith(name));
    const chosen = [0, 0.34, 0.99].map((random) => decide(info('p'), cluster(nodes), { ...options, random: () => random }).node?.name);
    expect(chosen).toEqual(['a', 'b', 'c']);
  });

  it('keeps the room that is made for others of at least its priority', () => {
    const waiting = info('waiting', { priority: 10, requests: { cpu: '3' } });
    const nodes = [nodeWith('a'), nodeWith('b', [], { unschedulable: true })];
    const nominated = (node: string): PodInfo[] => (node === 'a' ? [waiting] : []);
    const at = (priority: number): string => explained(decide(info('p', { priority, requests: { cpu: '2' } }), cluster(nodes), { ...options, nominated }), 2);
    expect(at(9)).toBe('0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.');
    expect(at(10)).toBe('0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.');
    expect(at(11)).toBe('a');
    expect(decide(waiting, cluster(nodes), { ...options, nominated }).node?.name).toBe('a');
  });

  it('takes the room that was made for it, also when another node looks better', () => {
    const nodes = [nodeWith('a', [info('x', { requests: { cpu: '1' } })]), nodeWith('b')];
    expect(decide(info('p', { status: { nominatedNodeName: 'a' } }), cluster(nodes), options).node?.name).toBe('a');
    expect(decide(info('p', { status: { nominatedNodeName: 'a' }, requests: { cpu: '4' } }), cluster(nodes), options).node?.name).toBe('b');
  });
});
