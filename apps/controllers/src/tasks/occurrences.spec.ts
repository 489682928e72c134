import { describe, expect, it } from '@jest/globals';
import { kindByResource, type AnyTask, type EventObject, type Round } from '@roundsman/api';
import * as fc from 'fast-check';
import { foldEvent, nameOf, type Occurrence } from './event-folding.ts';
import { occurrencesOf } from './occurrences.ts';

const start = Date.UTC(2026, 0, 1);
const iso = (ms: number): string => new Date(ms).toISOString();
const task = { apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name: 'my.mesh', namespace: 'shop', uid: '0123456789' } } as unknown as AnyTask;
const roundOf = (number: number, state: string | undefined, extra: { trigger?: string; skipped?: string; notReady?: string } = {}): Round =>
  ({
    metadata: { creationTimestamp: iso(start + number * 1000), annotations: extra.skipped === undefined ? {} : { 'roundsman.io/skipped-rounds': extra.skipped } },
    spec: { number, startTime: iso(start + number * 1000), trigger: extra.trigger ?? 'schedule', runners: [{ runner: 'a', node: 'n' }, { runner: 'b', node: 'm', ...(extra.notReady === undefined ? {} : { notReady: extra.notReady }) }] },
    ...(state === undefined ? {} : { status: { state, closedAt: iso(start + number * 1000 + 500), summary: 'node m is not reachable' } }),
  }) as unknown as Round;
const told = (rounds: Round[], nowMs: number, sinceMs = 0): string[] => [...occurrencesOf(task, rounds, nowMs, sinceMs).values()].flat().map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe('events of a task', () => {
  it('tell how its rounds went', () => {
    expect(told([roundOf(2, 'fail', { notReady: 'no heartbeat' }), roundOf(1, 'succeed'), roundOf(3, undefined)], start + 2_999)).toEqual([
      'Normal RoundStarted: Round 1 started on 2 runners',
      'Normal RoundStarted: Round 2 started on 1 runner; not ready: b',
      'Normal RoundSucceeded: Round 1 succeeded: node m is not reachable',
      'Warning RoundFailed: Round 2 failed: node m is not reachable',
    ]);
    expect(told([roundOf(4, 'missed', { trigger: 'missed', skipped: '90' })], start + 10_000)).toEqual([
      'Warning RoundsSkipped: 90 starts before round 4 passed while nothing could run them; they have no record',
      'Warning RoundMissed: Round 4, due at 2026-01-01T00:00:04.000Z, was missed: its time passed while nothing could run it',
    ]);
    expect(told([roundOf(5, 'canceled')], start + 10_000).at(-1)).toMatch(/^Normal RoundCanceled/);
  });

  it('never call a round a success that measured too little or too badly', () => {
    const judged = (verdict: string): Round => {
      const round = roundOf(1, 'succeed');
      return { ...round, status: { ...round.status, verdict, summary: 'the prober was starved' } } as Round;
    };
    const last = (verdict: string): string | undefined => told([judged(verdict)], start + 10_000).at(-1);
    expect(last('suspect')).toBe('Warning RoundSuspect: Round 1 cannot be trusted: the prober was starved');
    expect(last('incomplete')).toBe('Warning RoundIncomplete: Round 1 is incomplete: the prober was starved');
    expect(last('healthy')).toMatch(/^Normal RoundSucceeded/);
  });

  it('leave out what is older than events are kept', () => {
    expect(told([roundOf(1, 'succeed'), roundOf(100, 'succeed')], start + 200_000, start + 100_000)).toHaveLength(2);
  });

  it('are one object per reason that counts, each occurrence once however often it is folded and in whatever batches', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 12 }), (heads) => {
        let event: EventObject | undefined;
        let highest = 0;
        for (const head of heads) {
          const occurrences = Array.from({ length: head }, (_, index): Occurrence => ({ reason: 'RoundStarted', type: 'Normal', message: `round ${index + 1}`, atMs: start + index * 1000, sequence: index + 1 }));
          const next = foldEvent(task, event, occurrences);
          expect(next === undefined).toBe(head <= highest);
          highest = Math.max(highest, head);
          event = next ?? event;
        }
        // Nobody's: it stays when the task goes.
        expect(event?.metadata.ownerReferences).toBeUndefined();
        expect(event).toMatchObject({ count: highest, message: `round ${highest}`, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: iso(start + (highest - 1) * 1000).replace('.000', '') });
        expect(kindByResource.get('events')?.schema.safeParse(event).success).toBe(true);
      }),
    );
  });

  it('have names that are valid and differ by object', () => {
    const name = nameOf({ metadata: { ...task.metadata, name: 'x'.repeat(253) } }, 'RoundStarted');
    expect(name.length).toBeLessThanOrEqual(253);
    expect(nameOf(task, 'RoundStarted')).toBe('my.mesh.roundstarted.01234567');
  });
});
