import { describe, expect, it } from '@jest/globals';
import type { TopologySpreadConstraint } from '@roundsman/api';
import type { PodInfo } from '../cluster/pod-info.ts';
import { info, nodeWith, said, type NodeParts, type PodParts } from '../testing/objects.ts';
import { podTopologySpread } from './pod-topology-spread.ts';

const web = { app: 'web' };
const uneven = "!node(s) didn't match pod topology spread constraints";
const unlabeled = "node(s) didn't match pod topology spread constraints (missing required label)";
const byZone = (parts: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: web }, ...parts });
const asking = (constraint: TopologySpreadConstraint, parts: PodParts = {}): PodInfo => info('p', { labels: web, topologySpreadConstraints: [constraint], ...parts });
const webs = (count: number, parts: PodParts = {}): PodInfo[] => Array.from({ length: count }, (_, index) => info(`web-${index}`, { labels: web, ...parts }));
const inZone = (zone: string, pods: PodInfo[] = [], parts: NodeParts = {}) => nodeWith(`${zone}-${pods.length}`, pods, { ...parts, labels: { zone, ...parts.labels } });

describe('spreading', () => {
  it('lets a domain have at most maxSkew more than the emptiest', () => {
    const nodes = [inZone('a', webs(2)), inZone('b', webs(1)), nodeWith('nowhere')];
    expect(said(podTopologySpread, asking(byZone()), nodes)).toEqual([uneven, 'ok', unlabeled]);
    expect(said(podTopologySpread, asking(byZone({ maxSkew: 2 })), nodes)).toEqual(['ok', 'ok', unlabeled]);
  });

  it('counts a domain over all its nodes', () => {
    const zone = (name: string): NodeParts => ({ labels: { zone: name } });
    expect(said(podTopologySpread, asking(byZone()), [nodeWith('a1', webs(1), zone('a')), nodeWith('a2', webs(1), zone('a')), nodeWith('b1', webs(1), zone('b'))])).toEqual([uneven, uneven, 'ok']);
  });

  it('counts neither pods of other namespaces, nor other pods, nor those that are going', () => {
    for (const parts of [{ namespace: 'other' }, { labels: { app: 'db' } }, { terminating: true }]) expect(said(podTopologySpread, asking(byZone()), [inZone('a', webs(3, parts)), inZone('b')])).toEqual(['ok', 'ok']);
  });

  it('does not count a pod itself that the selector does not choose', () => {
    expect(said(podTopologySpread, asking(byZone(), { labels: {} }), [inZone('a', webs(1)), inZone('b')])).toEqual(['ok', 'ok']);
  });

  it('takes the emptiest as empty while there are fewer domains than minDomains', () => {
    const nodes = [inZone('a', webs(1)), inZone('b', webs(1))];
    expect(said(podTopologySpread, asking(byZone()), nodes)).toEqual(['ok', 'ok']);
    expect(said(podTopologySpread, asking(byZone({ minDomains: 3 })), nodes)).toEqual([uneven, uneven]);
  });

  it('leaves out nodes that the pod may not choose, unless told otherwise', () => {
    const nodes = [inZone('a', webs(1)), inZone('b', [], { labels: { disk: 'ssd' } })];
    const ssd: PodParts = { nodeSelector: { disk: 'ssd' } };
    expect(said(podTopologySpread, asking(byZone(), ssd), nodes)).toEqual(['ok', 'ok']);
    expect(said(podTopologySpread, asking(byZone({ nodeAffinityPolicy: 'Ignore' }), ssd), nodes)).toEqual([uneven, 'ok']);
  });

  it('counts tainted nodes, unless told otherwise', () => {
    const nodes = [inZone('a', webs(1)), inZone('b', [], { taints: [{ key: 'x', effect: 'NoSchedule' }] })];
    expect(said(podTopologySpread, asking(byZone()), nodes)).toEqual([uneven, 'ok']);
    expect(said(podTopologySpread, asking(byZone({ nodeTaintsPolicy: 'Honor' })), nodes)).toEqual(['ok', 'ok']);
  });

  it('keeps revisions apart by matchLabelKeys', () => {
    const nodes = [inZone('a', webs(1, { labels: { ...web, hash: 'old' } })), inZone('b')];
    expect(said(podTopologySpread, asking(byZone({ matchLabelKeys: ['hash'] }), { labels: { ...web, hash: 'new' } }), nodes)).toEqual(['ok', 'ok']);
    expect(said(podTopologySpread, asking(byZone({ matchLabelKeys: ['hash'] }), { labels: { ...web, hash: 'old' } }), nodes)).toEqual([uneven, 'ok']);
  });

  it('is no obstacle when it is only a wish', () => {
    expect(said(podTopologySpread, asking(byZone({ whenUnsatisfiable: 'ScheduleAnyway' })), [inZone('a', webs(5)), inZone('b')])).toEqual(['ok', 'ok']);
  });
});
