import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '@roundsman/reconcile';
import * as fc from 'fast-check';
import type { PodInfo } from '../cluster/pod-info.ts';
import type { Happening } from '../filters/filter.ts';
import { info, pod } from '../testing/objects.ts';
import { podInfo } from '../cluster/pod-info.ts';
import { SchedulingQueue } from './scheduling-queue.ts';

function setUp(): { clock: ManualClock; queue: SchedulingQueue; taken: () => string[]; calls: () => number } {
  let calls = 0;
  const clock = new ManualClock();
  const queue = new SchedulingQueue({ clock, onReady: () => (calls += 1) });
  const taken = (): string[] => {
    const names: string[] = [];
    for (let next = queue.take(); next !== undefined; next = queue.take()) names.push(next.pod.name);
    return names;
  };
  return { clock, queue, taken, calls: () => calls };
}
const created = (name: string, second: number, priority = 0): PodInfo => {
  const made = pod(name, { priority });
  return podInfo({ ...made, metadata: { ...made.metadata, creationTimestamp: `2026-01-01T00:00:0${second}Z` } });
};
const helpedBy = (...happenings: Happening[]): ReadonlySet<Happening> => new Set(happenings);

describe('the queue', () => {
  it('gives the most important first, then the oldest, then the one that came first', () => {
    const { queue, taken } = setUp();
    for (const one of [created('young', 2), created('old', 1), created('as old', 1), created('important', 3, 5), created('not at all', 0, -5)]) queue.put(one);
    expect(taken()).toEqual(['important', 'old', 'as old', 'young', 'not at all']);
  });

  it('rests a refused pod until something happens that may help, but no shorter than its back-off', async () => {
    const { clock, queue, taken } = setUp();
    const one = info('p');
    queue.put(one);
    expect(taken()).toEqual(['p']);
    queue.rest(one.uid, helpedBy('pod-gone'));
    queue.happened('node-labels');
    await clock.advance(5_000);
    expect(taken()).toEqual([]);
    queue.happened('pod-gone');
    expect(taken()).toEqual(['p']);
    queue.rest(one.uid, helpedBy('pod-gone'));
    queue.happened('pod-gone');
    await clock.advance(1_999);
    expect(taken()).toEqual([]);
    await clock.advance(1);
    expect(taken()).toEqual(['p']);
  });

  it('tries again after 15 s at the latest, with a back-off of 1 s to 10 s', async () => {
    const { clock, queue, taken } = setUp();
    const one = info('p');
    queue.put(one);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++) {
      expect(taken()).toEqual(['p']);
      // Not told what may help: as soon as the back-off is over.
      queue.rest(one.uid);
      const at = clock.now();
      await clock.advance((clock.next() ?? 0) - at);
      waits.push(clock.now() - at);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    taken();
    queue.rest(one.uid, helpedBy('node-added'));
    await clock.advance(14_999);
    expect(taken()).toEqual([]);
    await clock.advance(1);
    expect(taken()).toEqual(['p']);
  });

  it('sees what happens while a pod is out', async () => {
    const { clock, queue, taken } = setUp();
    const one = info('p');
    queue.put(one);
    taken();
    queue.happened('pod-gone');
    queue.rest(one.uid, helpedBy('pod-gone'));
    await clock.advance(1_000);
    expect(taken()).toEqual(['p']);
  });

  it('tries a pod at once that asks for something else, not one of which only the status changed', () => {
    const { queue, taken } = setUp();
    const stored = pod('p');
    queue.put(podInfo(stored));
    taken();
    queue.rest(stored.metadata.uid, helpedBy('node-added'));
    queue.put(podInfo({ ...stored, status: { phase: 'Pending' } }));
    expect(taken()).toEqual([]);
    queue.put(podInfo({ ...stored, spec: { ...stored.spec, tolerations: [{ operator: 'Exists' }] } }));
    expect(taken()).toEqual(['p']);
  });

  it('forgets a pod in every state', async () => {
    const { clock, queue, taken } = setUp();
    const [ready, resting, out] = [info('ready'), info('resting'), info('out')];
    for (const one of [resting, out]) queue.put(one);
    taken();
    queue.rest(resting.uid, helpedBy('pod-gone'));
    queue.put(ready);
    for (const { uid } of [ready, resting, out]) queue.remove(uid);
    queue.rest(out.uid);
    queue.happened('pod-gone');
    await clock.advance(60_000);
    expect(taken()).toEqual([]);
    expect(queue.counts()).toEqual({ ready: 0, resting: 0, out: 0 });
    expect(clock.next()).toBeUndefined();
  });

  it('loses no pod and gives none twice, whatever is done with it', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), pod: fc.nat(5) }),
      fc.record({ do: fc.constant('remove' as const), pod: fc.nat(5) }),
      fc.record({ do: fc.constant('take' as const) }),
      fc.record({ do: fc.constant('rest' as const), pod: fc.nat(5), by: fc.option(fc.constantFrom<Happening>('pod-gone', 'node-added'), { nil: undefined }) }),
      fc.record({ do: fc.constant('happened' as const), what: fc.constantFrom<Happening>('pod-gone', 'node-added', 'node-labels') }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, queue } = setUp();
        const pods = Array.from({ length: 6 }, (_, index) => info(`p${index}`, { priority: index % 3 }));
        const known = new Set<string>();
        const out = new Set<string>();
        for (const one of steps) {
          if (one.do === 'put') {
            queue.put(pods[one.pod]!);
            known.add(pods[one.pod]!.uid);
          } else if (one.do === 'remove') {
            queue.remove(pods[one.pod]!.uid);
            known.delete(pods[one.pod]!.uid);
            out.delete(pods[one.pod]!.uid);
          } else if (one.do === 'take') {
            const taken = queue.take();
            if (taken === undefined) continue;
            expect(known.has(taken.pod.uid)).toBe(true);
            expect(out.has(taken.pod.uid)).toBe(false);
            out.add(taken.pod.uid);
          } else if (one.do === 'rest') {
            queue.rest(pods[one.pod]!.uid, one.by === undefined ? undefined : helpedBy(one.by));
            out.delete(pods[one.pod]!.uid);
          } else if (one.do === 'happened') queue.happened(one.what);
          else await clock.advance(one.ms);
        }
        for (const uid of out) queue.rest(uid, helpedBy('node-removed'));
        await clock.advance(15_000);
        const left: string[] = [];
        for (let next = queue.take(); next !== undefined; next = queue.take()) left.push(next.pod.uid);
        expect(left.toSorted()).toEqual([...known].toSorted());
      }),
      { numRuns: 100 },
    );
  });
});
