import { expect, it } from '@jest/globals';
import type { PodInfo } from '../cluster/pod-info.ts';
import { info, nodeWith, scored, type PodParts } from '../testing/objects.ts';
import { preferredPodAffinity } from './inter-pod-affinity.ts';

const term = (app: string) => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app } } });
const wish = (app: string, weight: number) => ({ preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term(app) }] });
const inZone = (zone: string, ...pods: PodInfo[]) => nodeWith(zone, pods, { labels: { zone } });
const app = (name: string, parts: PodParts = {}): PodInfo => info(name, { labels: { app: name }, ...parts });

it('draws pods to those they want to be near, and from those they want to be apart from', () => {
  const nodes = [inZone('a', app('db')), inZone('b', app('noise')), inZone('c')];
  expect(scored(preferredPodAffinity, info('p', { affinity: { podAffinity: wish('db', 10) } }), nodes)).toEqual([100, 0, 0]);
  expect(scored(preferredPodAffinity, info('p', { affinity: { podAntiAffinity: wish('noise', 10) } }), nodes)).toEqual([100, 0, 100]);
  expect(scored(preferredPodAffinity, info('p', { affinity: { podAffinity: wish('db', 10), podAntiAffinity: wish('noise', 10) } }), nodes)).toEqual([100, 0, 50]);
});

it('counts every pod in the domain', () => {
  const nodes = [inZone('a', app('db'), app('db')), inZone('b', app('db')), inZone('c')];
  expect(scored(preferredPodAffinity, info('p', { affinity: { podAffinity: wish('db', 10) } }), nodes)).toEqual([100, 50, 0]);
});

it('hears what the pods there want, and a little what they require', () => {
  const asked = app('web');
  expect(scored(preferredPodAffinity, asked, [inZone('a', info('fan', { affinity: { podAffinity: wish('web', 50) } })), inZone('b')])).toEqual([100, 0]);
  expect(scored(preferredPodAffinity, asked, [inZone('a', info('foe', { affinity: { podAntiAffinity: wish('web', 50) } })), inZone('b')])).toEqual([0, 100]);
  const tied = info('tied', { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('web')] } } });
  expect(scored(preferredPodAffinity, asked, [inZone('a', tied), inZone('b')])).toEqual([100, 0]);
  expect(scored(preferredPodAffinity, asked, [inZone('a', app('db')), inZone('b')])).toBeUndefined();
});
