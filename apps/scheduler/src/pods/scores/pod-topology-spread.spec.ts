import { describe, expect, it } from '@jest/globals';
import type { PodInfo } from '../cluster/pod-info.ts';
import { selectorCondition } from '../rules/label-selector.ts';
import { info, nodeWith, scored, type NodeParts } from '../testing/objects.ts';
import { preferredSpread } from './pod-topology-spread.ts';

const web = { app: 'web' };
const webs = (count: number): PodInfo[] => Array.from({ length: count }, (_, index) => info(`web-${index}`, { labels: web }));
const zone = (name: string): NodeParts => ({ labels: { 'topology.kubernetes.io/zone': name } });
const ownPods = (): ReturnType<typeof selectorCondition> => selectorCondition({ matchLabels: web });

describe('spreading as a wish', () => {
  it('prefers the domain with the fewest', () => {
    const constraint = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: web } } as const;
    const asked = info('p', { labels: web, topologySpreadConstraints: [constraint] });
    const nodes = [nodeWith('a', webs(4), zone('a')), nodeWith('b', webs(2), zone('b')), nodeWith('c', [], zone('c')), nodeWith('nowhere')];
    const [a = 0, b = 0, c = 0, nowhere] = scored(preferredSpread, asked, nodes) ?? [];
    expect(c).toBe(100);
    expect(c).toBeGreaterThan(b);
    expect(b).toBeGreaterThan(a);
    expect(nowhere).toBe(0);
  });

  it('is for the pods of one owner when they say nothing of it: over nodes, then zones', () => {
    const asked = info('p', { labels: web, owner: { kind: 'ReplicaSet', name: 'web' } });
    const nodes = [nodeWith('a1', webs(3), zone('a')), nodeWith('a2', [], zone('a')), nodeWith('b1', webs(1), zone('b'))];
    const [a1 = 0, a2 = 0, b1 = 0] = scored(preferredSpread, asked, nodes, { ownPods }) ?? [];
    expect(a2).toBeGreaterThan(a1);
    expect(b1).toBeGreaterThan(a1);
    expect(scored(preferredSpread, asked, nodes)).toBeUndefined();
  });

  it('works by nodes alone where there are no zones', () => {
    const [full = 0, empty = 0] = scored(preferredSpread, info('p', { labels: web }), [nodeWith('a', webs(5)), nodeWith('b')], { ownPods }) ?? [];
    expect(empty).toBeGreaterThan(full);
  });

  it('finds all nodes equally good that are equally crowded', () => {
    expect(scored(preferredSpread, info('p', { labels: web }), [nodeWith('a', webs(2)), nodeWith('b', webs(2))], { ownPods })).toEqual([100, 100]);
  });
});
