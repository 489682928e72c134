import { describe, expect, it } from '@jest/globals';
import type { AnyTask, Round } from '@roundsman/api';
import * as fc from 'fast-check';
import { carrierOf, type Carrier } from '../../tasks/carrier.ts';
import { iso, roundOf, runtimeOf, settingsOf, startMs, taskOf } from '../testing/objects.ts';
import { fateOf, type Fate } from './fate.ts';
import { ownRuntimeOf } from './own-runtime.ts';

const carrier: Carrier = { own: true, runtime: undefined, name: 'n', refused: false };
const minute = 60_000;
const fate = (task: AnyTask, rounds: Round[], nowMs = startMs): Fate => fateOf(task, rounds, carrier, nowMs, settingsOf());
const deleted = { metadata: { deletionTimestamp: iso(startMs) } };

describe('the runtime of a task', () => {
  it('is wanted while there are rounds to come, and when one more is asked for', () => {
    expect(fate(taskOf({}), [])).toEqual({ is: 'wanted' });
    expect(fate(taskOf({}), [roundOf(1, 'ongoing')])).toEqual({ is: 'wanted' });
    expect(fate(taskOf({}, { schedule: { roundNumber: 2 } }), [roundOf(1, 'succeed')])).toEqual({ is: 'wanted' });
    expect(fate(taskOf({}, { schedule: { roundNumber: -1 } }), [roundOf(1, 'succeed')], startMs + 1e9)).toEqual({ is: 'wanted' });
    const again = taskOf({}, { metadata: { annotations: { 'roundsman.io/run-now': 'v' } } });
    expect(fate(again, [roundOf(1, 'succeed')], startMs + 1e9)).toEqual({ is: 'wanted' });
  });

  it('stays for its minutes after the last round was closed, none at all where that is said', () => {
    expect(fate(taskOf({}), [roundOf(1, 'succeed', startMs + 500)], startMs + minute)).toEqual({ is: 'spared', untilMs: startMs + 500 + 60 * minute });
    expect(fate(taskOf({}), [roundOf(1, 'succeed', startMs + 500)], startMs + 500 + 60 * minute).is).toBe('over');
    expect(fate(taskOf({ terminationGracePeriodMinutes: 0 }), [roundOf(1, 'succeed', startMs + 500)], startMs + 500).is).toBe('over');
  });

  it('never goes before every round is closed and told', () => {
    expect(fate(taskOf({ terminationGracePeriodMinutes: 0 }), [roundOf(1, undefined)], startMs + 1e9).is).toBe('wanted');
    expect(fate(taskOf({}, deleted), [roundOf(1, 'ongoing')], startMs + 1e9)).toEqual({ is: 'spared' });
    expect(fate(taskOf({}, deleted), [roundOf(1, undefined)], startMs + 1e9)).toEqual({ is: 'spared' });
    const states = fc.constantFrom('succeed', 'fail', 'canceled', 'ongoing', undefined);
    fc.assert(
      fc.property(fc.array(states, { maxLength: 6 }), fc.boolean(), fc.integer({ min: 0, max: 1e9 }), (list, isDeleted, afterMs) => {
        const rounds = list.map((state, index) => roundOf(index + 1, state));
        const { is } = fate(taskOf({ terminationGracePeriodMinutes: 0 }, isDeleted ? deleted : {}), rounds, startMs + afterMs);
        if (list.some((state) => state === undefined || state === 'ongoing')) expect(is).not.toBe('over');
        else if (isDeleted) expect(is).toBe('over');
      }),
    );
  });

  it('of a deleted task is made no more', () => {
    expect(fate(taskOf({}, deleted), []).is).toBe('over');
  });

  it('is none where the task asks for none', () => {
    expect(fate(taskOf(undefined), []).is).toBe('over');
  });
});

describe('the Runtime of a task', () => {
  it('belongs to it, by its uid too', () => {
    const runtime = ownRuntimeOf(taskOf({ kind: 'Deployment', deploymentReplicas: 2 }, { target: { ingress: true } }), { kind: 'Deployment', deploymentReplicas: 2, terminationGracePeriodMinutes: 60 }, settingsOf({ runtimeFamilies: 'v4,v6' }), 20_000);
    expect(runtime).toMatchObject({
      metadata: { name: 'netreach-mesh-uidmesh', namespace: 'shop', finalizers: ['roundsman.io/runtime'], annotations: { 'roundsman.io/host-ports': '20000' }, ownerReferences: [{ kind: 'NetReach', name: 'mesh', uid: 'uid-mesh' }] },
      spec: { task: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'shop', name: 'mesh', uid: 'uid-mesh' }, kind: 'Deployment', workload: 'netreach-mesh-uidmesh', replicas: 2, families: ['v4', 'v6'], ingress: true },
    });
  });
});

describe('who carries a task', () => {
  const own = runtimeOf(taskOf({}));
  const caches = (there: typeof own | undefined) => ({ runtimes: { by: () => (there === undefined ? [] : [there]), get: () => undefined } }) as never;
  const cluster = {} as never;

  it('is a runtime of its own where one can be made', () => {
    expect(carrierOf(taskOf({}), caches(undefined), { cluster, settings: settingsOf() })).toMatchObject({ own: true, runtime: undefined, name: 'netreach-mesh-uidmesh', refused: false });
    expect(carrierOf(taskOf({}), caches(own), { cluster, settings: settingsOf() })).toMatchObject({ own: true, runtime: own });
  });

  it('is the default one otherwise', () => {
    expect(carrierOf(taskOf(undefined), caches(undefined), { cluster, settings: settingsOf() })).toMatchObject({ own: false, refused: false });
    expect(carrierOf(taskOf({}), caches(undefined), { cluster: undefined, settings: settingsOf() })).toMatchObject({ own: false, refused: true });
    expect(carrierOf(taskOf({}), caches(undefined), { cluster, settings: settingsOf({ defaultRuntime: 'process' }) })).toMatchObject({ own: false, refused: true });
  });
});
