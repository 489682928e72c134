import { describe, expect, it } from '@jest/globals';
import type { DaemonSet, DaemonSetSpec, Node, Pod, PodSpec, Taint } from '@roundsman/api';
import * as fc from 'fast-check';
import { daemonStatus, planPlaces, planUpdate, type DaemonView } from './daemon-plan.ts';
import { daemonPod, nodeOf } from './daemon-pod.ts';
import { FailedPods } from './failed-pods.ts';
import { nodeFit } from './node-fit.ts';

const begin = Date.UTC(2026, 0, 1);
const setOf = (spec: Partial<PodSpec> = {}, strategy: Partial<DaemonSetSpec['updateStrategy']> = {}): DaemonSet =>
  ({
    apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent', namespace: 'default', uid: 'set-uid', generation: 1 },
    spec: { selector: {}, template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [], ...spec } }, updateStrategy: { type: 'RollingUpdate', ...strategy } },
  }) as unknown as DaemonSet;
const nodeNamed = (name: string, labels: Record<string, string> = {}, taints: Taint[] = []): Node => ({ metadata: { name, labels }, spec: { taints } }) as unknown as Node;

/** Nodes and pods without a cluster; a step of the controller is one call of `look`. */
class DaemonWorld {
  pods: Pod[] = [];
  hash = 'one';
  nowMs = begin;
  #made = 0;
  constructor(
    readonly set: DaemonSet,
    public nodes: Node[],
  ) {}

  view(): DaemonView {
    return { set: this.set, hash: this.hash, pods: this.pods, nodes: this.nodes, nowMs: this.nowMs };
  }

  /** What it opened and removed, as `+node` and `-pod`. */
  look(): string[] {
    this.nowMs += 1_000;
    const places = planPlaces(this.view());
    const remove = [...places.remove, ...places.ended.map(({ pod }) => pod)];
    const plan = places.open.length + remove.length > 0 ? { open: places.open, remove } : planUpdate(this.view());
    for (const pod of plan.remove) this.change(pod, { metadata: { ...pod.metadata, deletionTimestamp: this.iso() } });
    for (const node of plan.open) {
      const draft = daemonPod(this.set, node, this.hash);
      this.pods.push({ ...draft, metadata: { ...draft.metadata, name: `agent-${++this.#made}`, uid: `uid-${this.#made}`, creationTimestamp: this.iso() }, status: { phase: 'Pending' } } as unknown as Pod);
    }
    return [...plan.open.map((node) => `+${node}`), ...plan.remove.map((pod) => `-${nodeOf(pod)}`)];
  }

  iso = (): string => new Date(this.nowMs).toISOString();

  change(pod: Pod, change: Partial<Pod>): void {
    this.pods = this.pods.map((one) => (one.metadata.uid === pod.metadata.uid ? { ...one, ...change } : one));
  }

  ready(pod: Pod): void {
    this.change(pod, { spec: { ...pod.spec, nodeName: nodeOf(pod) }, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: this.iso() }] } } as Partial<Pod>);
  }

  /** All that were to go are gone, all others are ready. */
  progress(): void {
    this.pods = this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const pod of this.pods) this.ready(pod);
  }
}
const onNodes = (world: DaemonWorld): string[] => world.pods.map((pod) => nodeOf(pod) ?? '').sort();

describe('the nodes of a daemon set', () => {
  const fits = (set: DaemonSet, node: Node): string => {
    const { runs, stays } = nodeFit(set, node);
    return runs ? 'runs' : stays ? 'stays' : 'no';
  };
  const taint = (key: string, effect: Taint['effect']): Taint => ({ key, effect });

  it('are those its pods may be on; that a node is not well keeps none away', () => {
    expect(fits(setOf({ nodeSelector: { disk: 'ssd' } }), nodeNamed('a', { disk: 'ssd' }))).toBe('runs');
    expect(fits(setOf({ nodeSelector: { disk: 'ssd' } }), nodeNamed('a'))).toBe('no');
    expect(fits(setOf({ nodeName: 'b' }), nodeNamed('a'))).toBe('no');
    for (const [key, effect] of [['not-ready', 'NoExecute'], ['unreachable', 'NoExecute'], ['unschedulable', 'NoSchedule'], ['disk-pressure', 'NoSchedule']] as const) {
      expect([key, fits(setOf(), nodeNamed('a', {}, [taint(`node.kubernetes.io/${key}`, effect)]))]).toEqual([key, 'runs']);
    }
    expect(fits(setOf(), nodeNamed('a', {}, [taint('node.kubernetes.io/network-unavailable', 'NoSchedule')]))).toBe('stays');
    expect(fits(setOf({ hostNetwork: true }), nodeNamed('a', {}, [taint('node.kubernetes.io/network-unavailable', 'NoSchedule')]))).toBe('runs');
    expect(fits(setOf(), nodeNamed('a', {}, [taint('own', 'NoSchedule')]))).toBe('stays');
    expect(fits(setOf(), nodeNamed('a', {}, [taint('own', 'NoExecute')]))).toBe('no');
    expect(fits(setOf(), nodeNamed('a', {}, [taint('own', 'PreferNoSchedule')]))).toBe('runs');
    expect(fits(setOf({ tolerations: [{ operator: 'Exists' }] }), nodeNamed('a', {}, [taint('own', 'NoExecute')]))).toBe('runs');
    expect(fits(setOf({ tolerations: [{ key: 'own', value: 'x' }] }), nodeNamed('a', {}, [taint('own', 'NoExecute')]))).toBe('no');
  });

  it('follow its affinity', () => {
    const term = (operator: string, values?: string[]) => setOf({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'cores', operator, ...(values === undefined ? {} : { values }) }] }] } } } });
    const four = nodeNamed('a', { cores: '4' });
    expect([term('In', ['4', '8']), term('NotIn', ['4']), term('Exists'), term('DoesNotExist'), term('Gt', ['3']), term('Lt', ['3'])].map((set) => fits(set, four))).toEqual(['runs', 'no', 'runs', 'no', 'runs', 'no']);
    expect([term('NotIn', ['4']), term('DoesNotExist'), term('Gt', ['3'])].map((set) => fits(set, nodeNamed('a')))).toEqual(['runs', 'runs', 'no']);
  });
});

describe('a daemon set', () => {
  it('pins a pod to every node that fits, and follows nodes that come, change and go', () => {
    const world = new DaemonWorld(setOf({ nodeSelector: { disk: 'ssd' } }), [nodeNamed('a', { disk: 'ssd' }), nodeNamed('b'), nodeNamed('c', { disk: 'ssd' })]);
    expect(world.look()).toEqual(['+a', '+c']);
    expect(world.look()).toEqual([]);
    expect(world.pods[0]).toMatchObject({
      metadata: { generateName: 'agent-', labels: { app: 'agent', 'controller-revision-hash': 'one' } },
      spec: {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }] } } },
        tolerations: expect.arrayContaining([{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }]),
      },
    });
    world.ready(world.pods[0]!);
    expect(daemonStatus(world.view(), 0)).toEqual({ desiredNumberScheduled: 2, currentNumberScheduled: 2, numberMisscheduled: 0, numberReady: 1, updatedNumberScheduled: 2, numberAvailable: 1, numberUnavailable: 1, observedGeneration: 1 });
    world.nodes = [nodeNamed('a'), nodeNamed('b', { disk: 'ssd' })];
    expect(world.look()).toEqual(['+b', '-a', '-c']);
    expect(daemonStatus(world.view(), 0)).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 1 });
    world.progress();
    expect(onNodes(world)).toEqual(['b']);
  });

  it('keeps the eldest of several, and makes a new one only when the old one is gone', () => {
    const world = new DaemonWorld(setOf(), [nodeNamed('a')]);
    world.look();
    const [first] = world.pods;
    world.pods.push({ ...first!, metadata: { ...first!.metadata, uid: 'later', name: 'later', creationTimestamp: new Date(begin + 60_000).toISOString() } });
    expect([world.look(), world.pods.find(({ metadata }) => metadata.deletionTimestamp !== undefined)?.metadata.name]).toEqual([['-a'], 'later']);
    world.progress();
    world.change(first!, { metadata: { ...first!.metadata, deletionTimestamp: world.iso() } });
    expect(world.look()).toEqual([]);
    world.pods = [];
    expect(world.look()).toEqual(['+a']);
  });

  it('gives the node of a pod that has ended a new one, slower and slower when it fails', () => {
    const world = new DaemonWorld(setOf(), [nodeNamed('a')]);
    world.look();
    world.change(world.pods[0]!, { status: { phase: 'Failed' } });
    expect(planPlaces(world.view()).ended).toMatchObject([{ node: 'a' }]);
    const failed = new FailedPods();
    expect(failed.waitMs('a', 0)).toBe(0);
    const waits: number[] = [];
    let now = 0;
    for (let failure = 0; failure < 12; failure++) {
      failed.replaced('a', now);
      waits.push(failed.waitMs('a', now) / 1000);
      now += failed.waitMs('a', now);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    failed.replaced('a', now + 3 * 3_600_000);
    expect(failed.waitMs('a', now + 3 * 3_600_000)).toBe(1_000);
  });

  it('rolls node by node, those that are not available first', () => {
    const world = new DaemonWorld(setOf(), ['a', 'b', 'c'].map((name) => nodeNamed(name)));
    world.look();
    world.progress();
    world.change(world.pods[2]!, { status: { phase: 'Running' } });
    world.hash = 'two';
    expect(world.look()).toEqual(['-c']);
    expect(world.look()).toEqual([]);
    const steps: string[] = [];
    for (let i = 0; i < 12; i++) {
      world.progress();
      steps.push(...world.look());
    }
    expect(steps).toEqual(['+c', '-a', '+a', '-b', '+b']);
  });

  it('leaves old pods alone under OnDelete', () => {
    const world = new DaemonWorld(setOf({}, { type: 'OnDelete' }), [nodeNamed('a')]);
    world.look();
    world.progress();
    world.hash = 'two';
    expect(world.look()).toEqual([]);
    expect(daemonStatus(world.view(), 0).updatedNumberScheduled).toBeUndefined();
  });

  it('with a surge has the new pod beside the old one until it is available', () => {
    const world = new DaemonWorld(setOf({}, { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }), [nodeNamed('a'), nodeNamed('b')]);
    world.look();
    world.progress();
    world.hash = 'two';
    expect(world.look()).toEqual(['+a']);
    expect(world.look()).toEqual([]);
    const steps: string[] = [];
    for (let i = 0; i < 8; i++) {
      world.progress();
      steps.push(...world.look());
    }
    expect(steps).toEqual(['-a', '+b', '-b']);
  });

  it('comes to rest with one new pod on every node, and never has fewer available than it may', () => {
    const strategies = fc.oneof(
      fc.record({ maxUnavailable: fc.constantFrom<number | string>(1, 2, '50%'), maxSurge: fc.constant<number | string>(0) }),
      fc.record({ maxUnavailable: fc.constant<number | string>(0), maxSurge: fc.constantFrom<number | string>(1, '40%') }),
    );
    const happening = fc.record({ what: fc.constantFrom('look' as const, 'ready' as const, 'gone' as const), which: fc.nat(20) });
    fc.assert(
      fc.property(strategies, fc.integer({ min: 1, max: 5 }), fc.array(happening, { maxLength: 60 }), (rollingUpdate, nodes, happenings) => {
        const world = new DaemonWorld(setOf({}, { rollingUpdate }), Array.from({ length: nodes }, (_, i) => nodeNamed(`n${i}`)));
        world.look();
        world.progress();
        world.hash = 'two';
        const percent = (value: number | string): number => (typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * nodes) / 100));
        const available = (): number => new Set(world.pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && pod.status?.conditions !== undefined).map(nodeOf)).size;
        for (const { what, which } of happenings) {
          const pod = world.pods[which % world.pods.length];
          if (what === 'look') world.look();
          else if (pod !== undefined && what === 'ready') world.ready(pod);
          else if (pod?.metadata.deletionTimestamp !== undefined) world.pods = world.pods.filter((one) => one !== pod);
          expect(available()).toBeGreaterThanOrEqual(nodes - percent(rollingUpdate.maxUnavailable));
          expect(world.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length).toBeLessThanOrEqual(nodes + percent(rollingUpdate.maxSurge));
        }
        for (let i = 0; i < 40; i++) {
          world.progress();
          world.look();
        }
        expect(onNodes(world)).toEqual(world.nodes.map(({ metadata }) => metadata.name));
        expect(world.pods.every(({ metadata }) => metadata.labels?.['controller-revision-hash'] === 'two')).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
