import { describe, expect, it } from '@jest/globals';
import type { TopologySpreadConstraint } from '@roundsman/api';
import * as fc from 'fast-check';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { ClusterState } from '../cluster/state.ts';
import { cluster, info, node, type PodParts } from '../testing/objects.ts';
import { decide, fitness } from './decide.ts';
import { preempt } from './preempt.ts';

const zones = ['a', 'b', 'c'];
const apps = ['web', 'db', 'job'];
const seldom = fc.nat(7).map((number) => number === 0);
const nodeParts = fc.record({
  cpu: fc.integer({ min: 1, max: 8 }),
  pods: fc.integer({ min: 1, max: 12 }),
  zone: fc.option(fc.constantFrom(...zones), { nil: undefined }),
  ssd: fc.boolean(),
  tainted: seldom,
  cordoned: seldom,
  ready: seldom.map((not) => !not),
});
const podParts = fc.record({
  cpu: fc.integer({ min: 0, max: 40 }),
  app: fc.constantFrom(...apps),
  priority: fc.integer({ min: 0, max: 3 }),
  needsSsd: seldom,
  tolerates: fc.boolean(),
  apartFrom: fc.option(fc.record({ app: fc.constantFrom(...apps), key: fc.constantFrom('zone', 'kubernetes.io/hostname') }), { nil: undefined, freq: 2 }),
  near: fc.option(fc.constantFrom(...apps), { nil: undefined, freq: 2 }),
  maxSkew: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 2 }),
  port: fc.option(fc.constantFrom(80, 443), { nil: undefined, freq: 2 }),
});
type NodeParts = typeof nodeParts extends fc.Arbitrary<infer T> ? T : never;
type Wish = typeof podParts extends fc.Arbitrary<infer T> ? T : never;

function makeNode(index: number, { cpu, pods, zone, ssd, tainted, cordoned, ready }: NodeParts): ReturnType<typeof node> {
  return node(`n${index}`, {
    allocatable: { cpu: String(cpu), pods: String(pods) },
    labels: { ...(zone === undefined ? {} : { zone }), ...(ssd ? { disk: 'ssd' } : {}) },
    taints: tainted ? [{ key: 'special', effect: 'NoSchedule' }] : [],
    unschedulable: cordoned,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }],
  });
}

const selecting = (app: string) => ({ matchLabels: { app } });
function makePod(index: number, wish: Wish): PodInfo {
  const { cpu, app, priority, needsSsd, tolerates, apartFrom, near, maxSkew, port } = wish;
  const spread: TopologySpreadConstraint[] = maxSkew === undefined ? [] : [{ maxSkew, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: selecting(app) }];
  const parts: PodParts = {
    labels: { app },
    priority,
    requests: { cpu: `${cpu}00m` },
    ...(needsSsd ? { nodeSelector: { disk: 'ssd' } } : {}),
    ...(tolerates ? { tolerations: [{ key: 'special', operator: 'Exists' }] } : {}),
    affinity: {
      ...(apartFrom === undefined ? {} : { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: apartFrom.key, labelSelector: selecting(apartFrom.app) }] } }),
      ...(near === undefined ? {} : { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', labelSelector: selecting(near) }] } }),
    },
    topologySpreadConstraints: spread,
    ...(port === undefined ? {} : { ports: [{ containerPort: port, hostPort: port, protocol: 'TCP' }] }),
  };
  return info(`p${index}`, parts);
}

interface There {
  readonly pod: PodInfo;
  readonly wish: Wish;
  readonly node: string;
}
const domain = (one: NodeInfo | undefined, key: string): string | undefined => one?.labels[key];

/** The rules once more, written in the plainest way. */
function allowed(wish: Wish, on: NodeInfo, nodes: readonly NodeInfo[], there: readonly There[]): boolean {
  const at = new Map(nodes.map((one) => [one.name, one]));
  const mine = there.filter((one) => one.node === on.name);
  const { spec, status } = on.node;
  if (spec.unschedulable === true || status?.conditions?.[0]?.status !== 'True') return false;
  if ((spec.taints ?? []).length > 0 && !wish.tolerates) return false;
  if (wish.needsSsd && on.labels['disk'] !== 'ssd') return false;
  if (mine.length + 1 > Number(status.allocatable?.['pods'])) return false;
  if (wish.cpu > 0 && mine.reduce((sum, one) => sum + one.wish.cpu, wish.cpu) > 10 * Number(status.allocatable?.['cpu'])) return false;
  if (wish.port !== undefined && mine.some((one) => one.wish.port === wish.port)) return false;
  const same = (key: string, other: There): boolean => domain(on, key) !== undefined && domain(on, key) === domain(at.get(other.node), key);
  const { apartFrom, near, maxSkew } = wish;
  if (apartFrom !== undefined && there.some((other) => other.wish.app === apartFrom.app && same(apartFrom.key, other))) return false;
  if (there.some((other) => other.wish.apartFrom?.app === wish.app && same(other.wish.apartFrom.key, other))) return false;
  if (near !== undefined) {
    if (domain(on, 'zone') === undefined) return false;
    const friends = there.filter((other) => other.wish.app === near && domain(at.get(other.node), 'zone') !== undefined);
    if (!friends.some((other) => same('zone', other)) && !(friends.length === 0 && near === wish.app)) return false;
  }
  if (maxSkew !== undefined) {
    if (domain(on, 'zone') === undefined) return false;
    const counts = new Map<string, number>();
    for (const one of nodes) {
      const zone = domain(one, 'zone');
      if (zone === undefined || (wish.needsSsd && one.labels['disk'] !== 'ssd')) continue;
      counts.set(zone, (counts.get(zone) ?? 0) + there.filter((other) => other.node === one.name && other.wish.app === wish.app).length);
    }
    const here = counts.get(domain(on, 'zone') ?? '') ?? 0;
    if (here + 1 - (counts.size === 0 ? 0 : Math.min(...counts.values())) > maxSkew) return false;
  }
  return true;
}

describe('on random fleets', () => {
  it('a pod is placed where every rule allows it, or nowhere because no node does; and no node is ever over-committed', () => {
    fc.assert(
      fc.property(fc.array(nodeParts, { minLength: 1, maxLength: 6 }), fc.array(fc.record({ wish: podParts, thenGone: fc.option(fc.nat(20), { nil: undefined, freq: 2 }) }), { maxLength: 25 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (nodes, steps, random) => {
        const state = new ClusterState(cluster([]));
        nodes.forEach((parts, index) => state.setNode(makeNode(index, parts)));
        let there: There[] = [];
        steps.forEach(({ wish, thenGone }, index) => {
          const pod = makePod(index, wish);
          const decision = decide(pod, state, { nominated: state.nominatedOn, random: () => random });
          if (decision.node === undefined) {
            for (const one of state.nodes) expect({ node: one.name, allowed: allowed(wish, one, state.nodes, there) }).toEqual({ node: one.name, allowed: false });
            expect(decision.refusals.size).toBe(nodes.length);
          } else {
            expect(allowed(wish, decision.node, state.nodes, there)).toBe(true);
            state.assume(pod, decision.node.name);
            there.push({ pod, wish, node: decision.node.name });
          }
          const gone = thenGone === undefined ? undefined : there[thenGone];
          if (gone !== undefined) {
            state.remove(gone.pod.uid);
            there = there.filter((one) => one !== gone);
          }
          for (const one of state.nodes) {
            expect([...one.pods.keys()].toSorted()).toEqual(there.filter((other) => other.node === one.name).map((other) => other.pod.uid).toSorted());
            expect(one.requested.get('cpu') ?? 0).toBe([...one.pods.values()].reduce((sum, { requests }) => sum + (requests.get('cpu') ?? 0), 0));
            expect(one.requested.get('cpu') ?? 0).toBeLessThanOrEqual(one.allocatable.get('cpu') ?? 0);
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it('a trial on a copy of a node says what the cluster would say if it were so', () => {
    fc.assert(
      fc.property(fc.array(nodeParts, { minLength: 1, maxLength: 5 }), fc.array(podParts, { minLength: 1, maxLength: 15 }), podParts, fc.array(podParts, { maxLength: 2 }), fc.nat(4), fc.nat(0xffff), (nodes, wishes, wish, coming, index, gone) => {
        const state = new ClusterState(cluster([]));
        nodes.forEach((parts, at) => state.setNode(makeNode(at, parts)));
        wishes.forEach((one, at) => {
          const there = makePod(at, { ...one, near: undefined });
          const { node: chosen } = decide(there, state, { nominated: state.nominatedOn, random: () => 0 });
          if (chosen !== undefined) state.place(there, chosen.name);
        });
        const pod = makePod(99, wish);
        const on = state.nodes[index % state.nodes.length]!;
        const going = [...on.pods.values()].filter((_, bit) => (gone >> bit) % 2 === 1);
        const arriving = coming.map((one, at) => makePod(50 + at, one));
        const trial = on.copy();
        for (const { uid } of going) trial.remove(uid);
        for (const one of arriving) trial.add(one);
        const said = fitness(pod, state, state.nominatedOn)(trial)?.reasons;
        for (const { uid } of going) state.remove(uid);
        for (const one of arriving) state.place(one, on.name);
        expect(said).toEqual(fitness(pod, state, state.nominatedOn)(state.nodes.find(({ name }) => name === on.name)!)?.reasons);
      }),
      { numRuns: 500 },
    );
  });

  it('whoever has to go is less important, is needed, and is enough', () => {
    fc.assert(
      fc.property(fc.array(nodeParts, { minLength: 1, maxLength: 4 }), fc.array(podParts, { minLength: 1, maxLength: 20 }), podParts, (nodes, wishes, wish) => {
        const state = new ClusterState(cluster([]));
        nodes.forEach((parts, index) => state.setNode(makeNode(index, parts)));
        const options = { nominated: state.nominatedOn, random: () => 0 };
        wishes.forEach((one, index) => {
          const pod = makePod(index, { ...one, near: undefined });
          const { node: chosen } = decide(pod, state, options);
          if (chosen !== undefined) state.place(pod, chosen.name);
        });
        const pod = makePod(99, { ...wish, near: undefined, maxSkew: undefined, priority: 3 });
        const decision = decide(pod, state, options);
        if (decision.node !== undefined) return;
        const { eviction } = preempt(pod, state, decision.refusals, { budgets: [], nominated: state.nominatedOn });
        if (eviction === undefined) return;
        expect(eviction.victims.every(({ priority }) => priority < pod.priority)).toBe(true);
        const refused = (): boolean => fitness(pod, state, state.nominatedOn)(state.nodes.find(({ name }) => name === eviction.node)!) !== undefined;
        for (const { uid } of eviction.victims) state.remove(uid);
        expect(refused()).toBe(false);
        for (const victim of eviction.victims) {
          state.place(victim, eviction.node);
          expect(refused()).toBe(true);
          state.remove(victim.uid);
        }
      }),
      { numRuns: 300 },
    );
  });
});
