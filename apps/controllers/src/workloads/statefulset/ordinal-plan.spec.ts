import { describe, expect, it } from '@jest/globals';
import type { Pod, StatefulSet, StatefulSetSpec } from '@roundsman/api';
import * as fc from 'fast-check';
import { ordinalStatus, planOrdinals, type OrdinalView } from './ordinal-plan.ts';
import { identityOf, ordinalOf, ordinalPod } from './ordinal-pod.ts';

/** A set and its pods without a cluster; a step of the controller is one call of `look`. */
class OrdinalWorld {
  pods: Pod[] = [];
  set: StatefulSet;
  currentRevision = 'db-one';
  updateRevision = 'db-one';
  nowMs = Date.UTC(2026, 0, 1);
  #made = 0;

  constructor(spec: Partial<StatefulSetSpec> = {}) {
    const template = { metadata: { labels: { app: 'db' } }, spec: { containers: [] } };
    this.set = {
      apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db', namespace: 'default', uid: 'set-uid', generation: 1 },
      spec: { replicas: 3, selector: {}, serviceName: 'db', podManagementPolicy: 'OrderedReady', updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }, template, ...spec },
    } as unknown as StatefulSet;
  }

  view(): OrdinalView {
    return { set: this.set, pods: this.pods, currentRevision: this.currentRevision, updateRevision: this.updateRevision, nowMs: this.nowMs };
  }

  change(spec: Partial<StatefulSetSpec>): void {
    this.set = { ...this.set, spec: { ...this.set.spec, ...spec } };
  }

  look(): string[] {
    this.nowMs += 1_000;
    const { open, remove } = planOrdinals(this.view());
    for (const pod of remove) this.put(pod, { metadata: { ...pod.metadata, deletionTimestamp: new Date(this.nowMs).toISOString() } });
    for (const { ordinal, revision } of open) {
      const draft = ordinalPod(this.set, ordinal, this.set.spec.template, revision);
      expect(this.pods.some(({ metadata }) => metadata.name === draft.metadata.name)).toBe(false);
      this.pods.push({ ...draft, metadata: { ...draft.metadata, uid: `uid-${++this.#made}` }, status: { phase: 'Pending' } } as unknown as Pod);
    }
    this.currentRevision = ordinalStatus(this.view(), 0).currentRevision ?? this.currentRevision;
    return [...open.map(({ ordinal }) => `+${ordinal}`), ...remove.map((pod) => `-${ordinalOf(this.set, pod)}`)];
  }

  put(pod: Pod, change: Partial<Pod>): void {
    this.pods = this.pods.map((one) => (one.metadata.uid === pod.metadata.uid ? { ...one, ...change } : one));
  }

  ready(pod: Pod): void {
    this.put(pod, { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(this.nowMs).toISOString() }] } });
  }

  progress(): void {
    this.pods = this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const pod of this.pods) this.ready(pod);
  }

  /** Looks and lets everything go well, until nothing more happens. */
  settle(): string[] {
    const steps: string[] = [];
    for (let i = 0; i < 40; i++) {
      steps.push(...this.look());
      this.progress();
    }
    this.look();
    return steps;
  }

  get revisions(): string[] {
    return this.pods.map((pod) => `${ordinalOf(this.set, pod)}=${pod.metadata.labels?.['controller-revision-hash']}`).sort();
  }
}

describe('a stateful set', () => {
  it('gives its pods names, starts them one after another and ends the last first', () => {
    const world = new OrdinalWorld();
    expect(world.look()).toEqual(['+0']);
    expect(world.look()).toEqual([]);
    expect(world.pods[0]).toMatchObject({
      metadata: { name: 'db-0', labels: { app: 'db', 'controller-revision-hash': 'db-one', 'statefulset.kubernetes.io/pod-name': 'db-0', 'apps.kubernetes.io/pod-index': '0' } },
      spec: { hostname: 'db-0', subdomain: 'db' },
    });
    expect(identityOf(world.set, world.pods[0]!)).toBeUndefined();
    world.progress();
    expect(world.settle()).toEqual(['+1', '+2']);
    expect(ordinalStatus(world.view(), 0)).toEqual({ observedGeneration: 1, replicas: 3, readyReplicas: 3, currentReplicas: 3, updatedReplicas: 3, availableReplicas: 3, currentRevision: 'db-one', updateRevision: 'db-one', collisionCount: 0 });
    world.change({ replicas: 1 });
    expect(world.settle()).toEqual(['-2', '-1']);
    world.change({ replicas: 2, ordinals: { start: 5 } });
    expect(world.settle()).toEqual(['+5', '+6', '-0']);
  });

  it('in parallel waits for none', () => {
    const world = new OrdinalWorld({ podManagementPolicy: 'Parallel' });
    expect(world.look()).toEqual(['+0', '+1', '+2']);
    world.change({ replicas: 0 });
    expect(world.look()).toEqual(['-2', '-1', '-0']);
  });

  it('waits until a pod has been ready for minReadySeconds', () => {
    const world = new OrdinalWorld({ minReadySeconds: 10, replicas: 2 });
    world.look();
    world.ready(world.pods[0]!);
    for (let i = 0; i < 9; i++) expect(world.look()).toEqual([]);
    expect(ordinalStatus(world.view(), 0)).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    expect(world.look()).toEqual(['+1']);
  });

  it('replaces a pod that has ended under its own name', () => {
    const world = new OrdinalWorld({ replicas: 2 });
    world.settle();
    world.put(world.pods[0]!, { status: { phase: 'Failed' } });
    expect(world.look()).toEqual(['-0']);
    expect(world.look()).toEqual([]);
    expect(world.settle()).toEqual(['+0']);
  });

  it('scales down past the one pod that is not well, but past no other', () => {
    const world = new OrdinalWorld();
    world.settle();
    world.change({ replicas: 1 });
    world.put(world.pods[1]!, { status: { phase: 'Running' } });
    expect(world.look()).toEqual(['-2']);
    const other = new OrdinalWorld();
    other.settle();
    other.change({ replicas: 1 });
    for (const pod of other.pods.slice(1)) other.put(pod, { status: { phase: 'Running' } });
    expect(other.look()).toEqual([]);
  });

  it('updates from the last to the first, and holds those below the partition', () => {
    const world = new OrdinalWorld({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } });
    world.settle();
    world.updateRevision = 'db-two';
    expect(world.settle()).toEqual(['-2', '+2', '-1', '+1']);
    expect([world.revisions, world.currentRevision]).toEqual([['0=db-one', '1=db-two', '2=db-two'], 'db-one']);
    expect(ordinalStatus(world.view(), 0)).toMatchObject({ currentReplicas: 1, updatedReplicas: 2 });
    // A held pod is made anew as it was.
    world.pods = world.pods.filter((pod) => ordinalOf(world.set, pod) !== 0);
    world.settle();
    expect(world.revisions[0]).toBe('0=db-one');
    world.change({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } });
    expect(world.settle()).toEqual(['-0', '+0']);
    expect(world.currentRevision).toBe('db-two');
  });

  it('updates several at a time, or only those that somebody deletes', () => {
    const world = new OrdinalWorld({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: '67%' } } });
    world.settle();
    world.updateRevision = 'db-two';
    expect(world.look()).toEqual(['-2', '-1']);
    expect(world.look()).toEqual([]);
    const idle = new OrdinalWorld({ updateStrategy: { type: 'OnDelete' } });
    idle.settle();
    idle.updateRevision = 'db-two';
    expect(idle.settle()).toEqual([]);
    idle.pods.splice(1, 1);
    idle.settle();
    expect(idle.revisions).toEqual(['0=db-one', '1=db-two', '2=db-one']);
  });

  it('never has two pods of a name nor starts one before those below it are ready, and comes to rest as it is wanted', () => {
    const happening = fc.record({ what: fc.constantFrom('look' as const, 'look' as const, 'ready' as const, 'fail' as const, 'delete' as const, 'gone' as const, 'scale' as const, 'update' as const), which: fc.nat(20) });
    fc.assert(
      fc.property(fc.constantFrom('OrderedReady' as const, 'Parallel' as const), fc.array(happening, { maxLength: 80 }), (podManagementPolicy, happenings) => {
        const world = new OrdinalWorld({ podManagementPolicy });
        for (const { what, which } of happenings) {
          const pod = world.pods[which % world.pods.length];
          if (what === 'scale') world.change({ replicas: which % 5 });
          else if (what === 'update') world.updateRevision = `db-${which % 3}`;
          else if (what === 'look') {
            const steps = world.look();
            const opened = steps.find((step) => step.startsWith('+'));
            if (podManagementPolicy !== 'OrderedReady' || opened === undefined) continue;
            expect(steps).toEqual([opened]);
            const below = world.pods.filter((one) => (ordinalOf(world.set, one) ?? 0) < Number(opened));
            expect(below).toHaveLength(Number(opened));
            expect(below.every(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.conditions?.[0]?.status === 'True')).toBe(true);
          } else if (pod === undefined) continue;
          else if (what === 'ready' && pod.metadata.deletionTimestamp === undefined) world.ready(pod);
          else if (what === 'fail') world.put(pod, { status: { phase: 'Failed' } });
          else if (what === 'delete') world.put(pod, { metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
          else if (what === 'gone' && pod.metadata.deletionTimestamp !== undefined) world.pods = world.pods.filter((one) => one !== pod);
        }
        for (let i = 0; i < 4; i++) world.settle();
        expect(world.revisions).toEqual(Array.from({ length: world.set.spec.replicas }, (_, ordinal) => `${ordinal}=${world.updateRevision}`));
        if (world.set.spec.replicas > 0) expect(world.currentRevision).toBe(world.updateRevision);
      }),
      { numRuns: 300 },
    );
  });
});
