import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property, record } from 'fast-check';
import type { PodSpecInput } from '@roundsman/api';
import type { Run } from '../containers/run.ts';
import { container, podOf, runOfName } from '../testing/runs.ts';
import { planPod, type Plan, type PodView } from './plan.ts';

const sandbox = { running: true, run: 's1' };
const viewOf = (spec: PodSpecInput, more: Partial<Omit<PodView, 'runs'>> & { runs?: readonly Run[] } = {}): PodView => ({
  spec: podOf(spec).spec,
  ending: false,
  sandbox,
  busy: new Set(),
  sandboxBusy: false,
  started: new Set((more.runs ?? []).filter(({ state }) => state === 'running').map(({ name }) => name)),
  unhealthy: new Map(),
  retryAt: new Map(),
  sandboxRetryAt: 0,
  ...more,
  runs: new Map((more.runs ?? []).map((run) => [run.name, run])),
});
const steps = (plan: Plan): string[] =>
  plan.steps.map((step) => {
    if (step.do === 'sandbox') return step.anew ? 'sandbox anew' : 'sandbox';
    if (step.do === 'start') return `start ${step.container.name} ${step.attempt} ${step.backOffMs}`;
    return step.do === 'stop' ? `stop ${step.run.name} ${step.cause}${step.restart ? ' restart' : ''}` : `discard ${step.run.name}`;
  });
const now = 1_100_000;
const ended = (name: string, exitCode: number, more: Partial<Run> = {}): Run => runOfName(name, { state: 'exited', exitCode, finishedAt: now - 1_000, ...more });
const planned = (view: PodView): string[] => steps(planPod(view, now));

describe('what is done next with a pod', () => {
  const two = { containers: [container('a'), container('b')] };
  const withInit = { initContainers: [container('i1'), container('side', { restartPolicy: 'Always' }), container('i2')], containers: [container('a')] };

  it('first its sandbox, then its containers, all of them at once', () => {
    expect(planned(viewOf(two, { sandbox: undefined }))).toEqual(['sandbox']);
    expect(planned(viewOf(two, { sandbox: undefined, sandboxBusy: true }))).toEqual([]);
    expect(planned(viewOf(two))).toEqual(['start a 0 0', 'start b 0 0']);
    expect(planned(viewOf(two, { runs: [runOfName('a')], busy: new Set(['b']) }))).toEqual([]);
    expect(planPod(viewOf(two, { sandbox: undefined, sandboxRetryAt: now + 5 }), now)).toMatchObject({ steps: [], wakeAt: now + 5, over: false });
  });

  it('init containers one after the other; a sidecar must be up before the next, and goes on', () => {
    expect(planned(viewOf(withInit))).toEqual(['start i1 0 0']);
    expect(planned(viewOf(withInit, { runs: [runOfName('i1')] }))).toEqual([]);
    expect(planned(viewOf(withInit, { runs: [ended('i1', 0)] }))).toEqual(['start side 0 0']);
    expect(planned(viewOf(withInit, { runs: [ended('i1', 0), runOfName('side')], started: new Set() }))).toEqual([]);
    expect(planned(viewOf(withInit, { runs: [ended('i1', 0), runOfName('side')] }))).toEqual(['start i2 0 0']);
    expect(planned(viewOf(withInit, { runs: [ended('i1', 0), runOfName('side'), ended('i2', 0)] }))).toEqual(['start a 0 0']);
    expect(planned(viewOf(withInit, { runs: [ended('i1', 0), ended('side', 0), ended('i2', 0), runOfName('a')] }))).toEqual(['start side 1 10000']);
  });

  it('an init container that failed is tried again, or fails the pod', () => {
    expect(planned(viewOf(withInit, { runs: [ended('i1', 1)] }))).toEqual(['start i1 1 10000']);
    expect(planPod(viewOf({ ...withInit, restartPolicy: 'Never' }, { runs: [ended('i1', 1)] }), now)).toMatchObject({ steps: [], over: true });
  });

  it('ended containers by policy and back-off', () => {
    const waits = ended('a', 1, { attempt: 1, backOffMs: 10_000, finishedAt: now - 4_000 });
    const one = { containers: [container('a')] };
    expect(planPod(viewOf(one, { runs: [waits] }), now)).toMatchObject({ steps: [], backingOff: new Map([['a', { until: now + 6_000, delayMs: 10_000 }]]), wakeAt: now + 6_000, over: false });
    expect(planned(viewOf(one, { runs: [{ ...waits, finishedAt: now - 10_000 }] }))).toEqual(['start a 2 20000']);
    expect(planPod(viewOf({ ...one, restartPolicy: 'OnFailure' }, { runs: [ended('a', 0)] }), now).over).toBe(true);
    expect(planned(viewOf({ ...one, restartPolicy: 'OnFailure' }, { runs: [ended('a', 2)] }))).toEqual(['start a 1 10000']);
    expect(planPod(viewOf({ ...one, restartPolicy: 'Never' }, { runs: [ended('a', 2)] }), now).over).toBe(true);
    expect(planPod(viewOf({ ...two, restartPolicy: 'Never' }, { runs: [ended('a', 2), runOfName('b')] }), now).over).toBe(false);
    expect(planPod(viewOf(one, { retryAt: new Map([['a', now + 7]]) }), now)).toMatchObject({ steps: [], wakeAt: now + 7 });
  });

  it('what runs and should not as it is, is ended: unhealthy, changed, or without a sandbox', () => {
    const one = { containers: [container('a')] };
    expect(planned(viewOf(one, { runs: [runOfName('a')], unhealthy: new Map([['a', 'liveness']]) }))).toEqual(['stop a liveness restart']);
    expect(planned(viewOf({ ...one, restartPolicy: 'Never' }, { runs: [runOfName('a')], unhealthy: new Map([['a', 'startup']]) }))).toEqual(['stop a startup']);
    expect(planned(viewOf({ containers: [container('a', { image: 'other:1' })], restartPolicy: 'Never' }, { runs: [runOfName('a')] }))).toEqual(['stop a changed restart']);
    expect(planned(viewOf({ containers: [container('a', { image: 'other:1' })] }, { runs: [ended('a', 137, { backOffMs: 40_000 })] }))).toEqual(['start a 1 0']);
    const dead = { running: false, run: 's1' };
    expect(planned(viewOf(one, { sandbox: dead, runs: [runOfName('a')] }))).toEqual(['stop a sandbox restart']);
    expect(planned(viewOf(one, { sandbox: dead, runs: [ended('a', 137)] }))).toEqual(['sandbox anew']);
    expect(planPod(viewOf({ ...one, restartPolicy: 'Never' }, { sandbox: dead, runs: [ended('a', 137)] }), now)).toMatchObject({ steps: [], over: true });
    expect(planPod(viewOf({ ...one, restartPolicy: 'OnFailure' }, { sandbox: dead, runs: [ended('a', 0)] }), now)).toMatchObject({ steps: [], over: true });
    // In the new sandbox init containers run anew.
    expect(planned(viewOf(withInit, { sandbox: { running: true, run: 's2' }, runs: [ended('i1', 0), ended('side', 0), ended('i2', 0), ended('a', 137)] }))).toEqual(['start i1 1 10000']);
    expect(planned(viewOf(one, { runs: [runOfName('a', { state: 'created' })] }))).toEqual(['discard a']);
  });

  it('ending: all but sidecars together, then sidecars from the last', () => {
    const spec = { initContainers: [container('s1', { restartPolicy: 'Always' as const }), container('s2', { restartPolicy: 'Always' as const })], containers: [container('a'), container('b')] };
    const all = ['s1', 's2', 'a', 'b'].map((name) => runOfName(name));
    expect(planned(viewOf(spec, { ending: true, runs: all }))).toEqual(['stop a ending', 'stop b ending']);
    expect(planned(viewOf(spec, { ending: true, runs: [...all.slice(0, 2), ended('a', 0), ended('b', 0)] }))).toEqual(['stop s2 ending']);
    expect(planned(viewOf(spec, { ending: true, runs: [all[0]!, ended('s2', 0), ended('a', 0), ended('b', 0)] }))).toEqual(['stop s1 ending']);
    expect(planPod(viewOf(spec, { ending: true, runs: ['s1', 's2', 'a', 'b'].map((name) => ended(name, 0)) }), now).over).toBe(true);
    // Jobs: when the app is through, sidecars are ended.
    expect(planned(viewOf({ ...spec, restartPolicy: 'Never' }, { runs: [...all.slice(0, 2), ended('a', 0), ended('b', 1)] }))).toEqual(['stop s2 finished']);
  });

  it('comes to rest in any world: no container twice, none before its turn, all ended at the end', () => {
    const names = ['i1', 'i2', 'a', 'b'];
    assert(
      property(
        constantFrom('Always' as const, 'OnFailure' as const, 'Never' as const),
        array(record({ name: constantFrom(...names, 'sandbox'), exitCode: constantFrom(0, 1, 137) }), { maxLength: 25 }),
        (restartPolicy, happenings) => {
          const spec: PodSpecInput = { restartPolicy, initContainers: [container('i1'), container('i2')], containers: [container('a'), container('b')] };
          const world = new World(spec);
          for (const { name, exitCode } of happenings) {
            world.settle();
            world.happen(name, exitCode);
          }
          world.settle();
          if (restartPolicy === 'Always' && !world.over) expect([...world.runs.values()].some(({ state }) => state === 'running')).toBe(true);
          world.ending = true;
          world.settle();
          expect(world.over).toBe(true);
          expect([...world.runs.values()].filter(({ state }) => state === 'running')).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Plays what is planned, at once, in a time that jumps over every wait. */
class World {
  readonly runs = new Map<string, Run>();
  ending = false;
  over = false;
  #now = now;
  #sandbox: { running: boolean; run: string } | undefined;

  constructor(private readonly spec: PodSpecInput) {}

  happen(name: string, exitCode: number): void {
    const run = this.runs.get(name);
    if (name === 'sandbox' && this.#sandbox !== undefined) this.#sandbox = { ...this.#sandbox, running: false };
    else if (run?.state === 'running') this.runs.set(name, { ...run, state: 'exited', exitCode, finishedAt: this.#now });
  }

  settle(): void {
    for (let round = 0; round < 100; round += 1) {
      const plan = planPod(viewOf(this.spec, { ending: this.ending, sandbox: this.#sandbox, runs: [...this.runs.values()] }), this.#now);
      this.over = plan.over;
      if (plan.over || (plan.steps.length === 0 && plan.wakeAt === undefined)) return;
      if (plan.steps.length === 0) this.#now = plan.wakeAt!;
      for (const step of plan.steps) this.#play(step);
    }
    throw new Error('it does not come to rest');
  }

  #play(step: Plan['steps'][number]): void {
    this.#now += 1;
    if (step.do === 'sandbox') {
      expect(this.#sandbox?.running).not.toBe(true);
      this.#sandbox = { running: true, run: `s${this.#now}` };
    } else if (step.do === 'start') {
      const { name } = step.container;
      expect(this.runs.get(name)?.state).not.toBe('running');
      const { run } = this.#sandbox!;
      if (!name.startsWith('i') && this.runs.get(name)?.sandboxRun !== run) for (const init of ['i1', 'i2']) expect(this.runs.get(init)).toMatchObject({ state: 'exited', exitCode: 0 });
      this.runs.set(name, runOfName(name, { id: `${name}-${this.#now}`, attempt: step.attempt, backOffMs: step.backOffMs, sandboxRun: run, createdAt: this.#now, startedAt: this.#now }));
      // Init containers end by themselves.
      if (name.startsWith('i')) this.happen(name, 0);
    } else if (step.do === 'stop') this.happen(step.run.name, 143);
    else this.runs.delete(step.run.name);
  }
}
