import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Limits } from './limits.ts';
import { newSetSize, proportionalSizes, shrinkOld, type Resize, type SetSize } from './sizes.ts';

const set = (name: string, replicas: number, more: Partial<SetSize> = {}): SetSize => ({ name, replicas, actual: replicas, available: replicas, observed: true, createdMs: 0, maxReplicas: 0, ...more });

describe('the next step of a rolling update', () => {
  it('grows the new set into the surge, and shrinks old ones by what is available beyond the least', () => {
    const limits: Limits = { replicas: 10, maxSurge: 3, maxUnavailable: 2 };
    expect(newSetSize(limits, set('new', 0), [set('old', 10)])).toBe(3);
    expect(shrinkOld(limits, set('new', 3, { available: 0 }), [set('old', 10)])).toEqual([{ name: 'old', replicas: 8 }]);
    // The two that were told to end still take their places, and do not count twice.
    expect(newSetSize(limits, set('new', 3, { available: 0 }), [set('old', 8, { actual: 10, available: 10 })])).toBe(3);
    expect(shrinkOld(limits, set('new', 3, { available: 1 }), [set('old', 8, { actual: 10, available: 10 })])).toEqual([{ name: 'old', replicas: 7 }]);
  });

  it('does not count pods of the new set that are about to end', () => {
    expect(shrinkOld({ replicas: 5, maxSurge: 1, maxUnavailable: 0 }, set('new', 3, { actual: 5, available: 5 }), [set('old', 3)])).toEqual([{ name: 'old', replicas: 2 }]);
  });

  it('takes old pods that are not available first, the oldest set before others', () => {
    const limits: Limits = { replicas: 4, maxSurge: 1, maxUnavailable: 1 };
    expect(shrinkOld(limits, set('new', 1, { available: 1 }), [set('b', 2, { available: 1, createdMs: 2 }), set('a', 2, { available: 2, createdMs: 1 })])).toEqual([
      { name: 'b', replicas: 1 },
      { name: 'a', replicas: 1 },
    ]);
  });

  it('grows nothing while it is not known what a set has made that was sized again', () => {
    const limits: Limits = { replicas: 1, maxSurge: 1, maxUnavailable: 0 };
    // It made its pod, was told to end it, and has told of neither.
    const between = set('between', 0);
    expect(newSetSize(limits, set('new', 0), [set('old', 1), { ...between, observed: false }])).toBe(0);
    expect(newSetSize(limits, set('new', 0), [set('old', 1), between])).toBe(1);
  });

  it('makes the new set smaller when fewer are wanted', () => {
    expect(newSetSize({ replicas: 2, maxSurge: 1, maxUnavailable: 0 }, set('new', 5), [])).toBe(2);
  });
});

describe('scaling while a roll-out is under way', () => {
  it('keeps the shares; what is left over goes to the largest', () => {
    const sizes = proportionalSizes({ replicas: 20, maxSurge: 5, maxUnavailable: 0 }, [set('old', 8, { maxReplicas: 13 }), set('new', 5, { maxReplicas: 13, createdMs: 1 })], 13);
    expect(sizes).toEqual([{ name: 'old', replicas: 15 }, { name: 'new', replicas: 10 }]);
  });

  it('adds up to what is allowed, whatever the sizes', () => {
    const sizes = fc.array(fc.record({ replicas: fc.integer({ min: 1, max: 50 }), createdMs: fc.nat(9), maxReplicas: fc.nat(120) }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(sizes, fc.nat(60), fc.nat(10), (drafts, replicas, maxSurge) => {
        const all = drafts.map((draft, index) => set(`s${index}`, draft.replicas, draft));
        const resized = proportionalSizes({ replicas, maxSurge, maxUnavailable: 0 }, all, 10);
        const total = resized.reduce((sum, one) => sum + one.replicas, 0);
        expect(resized.every((one) => one.replicas >= 0)).toBe(true);
        expect(resized).toHaveLength(all.length);
        expect(total).toBe(replicas === 0 ? 0 : replicas + maxSurge);
      }),
    );
  });
});

/** Pods of a set, true when available; what its status last told, and of which size, lags behind. */
interface World {
  sets: { name: string; spec: number; generation: number; pods: boolean[]; told: { generation: number; actual: number; available: number } }[];
}
const seen = ({ sets }: World): SetSize[] => sets.map(({ name, spec, generation, told }, index) => ({ name, replicas: spec, actual: told.actual, available: told.available, observed: told.generation === generation, createdMs: index, maxReplicas: 0 }));
const count = ({ sets }: World, of: (pod: boolean) => boolean = () => true): number => sets.reduce((sum, { pods }) => sum + pods.filter(of).length, 0);
const available = (world: World): number => count(world, (pod) => pod);

const resizeAll = (world: World, sizes: readonly Resize[]): void => {
  for (const { name, replicas } of sizes) {
    const one = world.sets.find((found) => found.name === name)!;
    if (one.spec !== replicas) one.generation += 1;
    one.spec = replicas;
  }
};
function roll(world: World, limits: Limits): void {
  const all = seen(world);
  const newSet = all.at(-1)!;
  const old = all.slice(0, -1);
  const size = newSetSize(limits, newSet, old);
  resizeAll(world, size === newSet.replicas ? shrinkOld(limits, newSet, old) : [{ name: newSet.name, replicas: size }]);
}
/** As a ReplicaSet does: those that are not available end first. */
function manage(one: World['sets'][number]): void {
  one.pods.sort((a, b) => Number(b) - Number(a));
  one.pods.length = Math.min(one.pods.length, one.spec);
  while (one.pods.length < one.spec) one.pods.push(false);
}
/** One more of them. */
const becomeAvailable = (pods: readonly boolean[]): boolean[] => pods.map((pod, index) => pod || index === pods.indexOf(false));
const tell = (one: World['sets'][number]): void => void (one.told = { generation: one.generation, actual: one.pods.length, available: one.pods.filter(Boolean).length });

describe('a rolling update', () => {
  const limitsArbitrary = fc
    .record({ replicas: fc.integer({ min: 1, max: 12 }), maxSurge: fc.nat(5), maxUnavailable: fc.nat(5) })
    .map((limits): Limits => ({ ...limits, maxUnavailable: Math.min(limits.replicas, limits.maxSurge === 0 ? Math.max(1, limits.maxUnavailable) : limits.maxUnavailable) }));
  const step = fc.record({ what: fc.constantFrom('roll', 'manage', 'tell', 'becomes available', 'new template'), which: fc.nat(9) });

  it('keeps its limits, however late each of its sets is told of and whenever the template changes again, and comes to its end', () => {
    fc.assert(
      fc.property(limitsArbitrary, fc.array(step, { maxLength: 150 }), (limits, steps) => {
        const { replicas, maxSurge, maxUnavailable } = limits;
        const first = { name: 's0', spec: replicas, generation: 1, pods: Array.from({ length: replicas }, () => true), told: { generation: 1, actual: replicas, available: replicas } };
        const newSet = (index: number): World['sets'][number] => ({ name: `s${index}`, spec: 0, generation: 1, pods: [], told: { generation: 1, actual: 0, available: 0 } });
        const world: World = { sets: [first, newSet(1)] };
        const check = (): void => {
          expect(count(world)).toBeLessThanOrEqual(replicas + maxSurge);
          expect(available(world)).toBeGreaterThanOrEqual(replicas - maxUnavailable);
        };
        for (const { what, which } of steps) {
          const one = world.sets[which % world.sets.length]!;
          if (what === 'roll') roll(world, limits);
          else if (what === 'manage') manage(one);
          else if (what === 'tell') tell(one);
          else if (what === 'becomes available') one.pods = becomeAvailable(one.pods);
          else if (world.sets.length < 5) world.sets.push(newSet(world.sets.length));
          check();
        }
        for (let rounds = 0; rounds < 60; rounds += 1) {
          roll(world, limits);
          for (const one of world.sets) {
            manage(one);
            one.pods.fill(true);
            tell(one);
          }
          check();
        }
        expect(world.sets.map(({ spec }) => spec)).toEqual([...Array.from({ length: world.sets.length - 1 }, () => 0), replicas]);
      }),
      { numRuns: 200 },
    );
  });
});
