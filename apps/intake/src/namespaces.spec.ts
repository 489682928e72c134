import { describe, expect, it } from '@jest/globals';
import { compilePolicy, serviceUnavailable, type KubeObject } from '@roundsman/api';
import { eventually } from '@roundsman/testkit';
import { pino } from 'pino';
import { admit } from './admission/admit.ts';
import { books } from './testing/addresses.ts';
import { GroupCommit } from './group-commit.ts';
import { NamespaceSweep } from './namespaces.ts';
import { State } from './state.ts';

const meta = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject['metadata'] => ({ name, uid: `uid-${name}`, resourceVersion: '10', generation: 1, creationTimestamp: 't', ...more });

/** A namespace `big` that ends, with so many objects; commits take a turn of the event loop. */
function setUp(objects: number, finalizers?: string[]) {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const state = new State({
    head: 10,
    objects: [
      { resource: 'namespaces', namespace: '', name: 'big', object: { apiVersion: 'v1', kind: 'Namespace', metadata: meta('big', { deletionTimestamp, ...(finalizers && { finalizers }) }), spec: {} } },
      ...Array.from({ length: objects }, (_, index) => ({ resource: 'configmaps', namespace: 'big', name: `c${index}`, object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(`c${index}`, { namespace: 'big' }), data: {} } as never })),
    ],
    lastOfResource: new Map([['namespaces', 10]]),
  });
  const group: GroupCommit = new GroupCommit(state, {
    admit: (write) => admit(write, { admitted: (...where) => state.admitted(...where), list: (of) => state.admittedList(of), limits: { maxBodyBytes: 1, maxQpsPerRunner: 1, maxRequestsPerRound: 1 }, policy: compilePolicy(), now: 0, ...books() }),
    commit: () => new Promise((resolve) => setImmediate(resolve)),
    committed: (changes) => sweep.committed(changes),
    settled: () => undefined,
    failed: () => undefined,
  });
  let refusals = 0;
  const sweep = new NamespaceSweep(state, (write) => (refusals-- > 0 ? Promise.reject(serviceUnavailable('8192 writes are waiting; try again')) : group.submit(write)), pino({ level: 'silent' }));
  return { state, sweep, submit: group.submit.bind(group), refuse: (count: number) => void (refusals = count) };
}

describe('a namespace that was deleted', () => {
  it('goes, however much is in it', async () => {
    const { state, sweep } = setUp(10_000);
    sweep.start();
    await eventually(() => expect([state.list('configmaps').length, state.list('namespaces').length]).toEqual([0, 0]), { within: 120_000 });
  });
  it('goes though deletions were refused for a while', async () => {
    const { state, sweep, refuse } = setUp(3);
    refuse(4);
    sweep.start();
    await eventually(() => expect([state.list('configmaps').length, state.list('namespaces').length]).toEqual([0, 0]));
  });
  it('waits for finalizers of its own', async () => {
    const { state, sweep, submit } = setUp(3, ['example.com/x']);
    sweep.start();
    await eventually(() => expect(state.list('configmaps')).toEqual([]));
    // A write that comes after all that the sweep has asked for.
    const write = { resource: 'namespaces', name: 'big', fieldValidation: 'Strict', dryRun: false, user: 'ada' } as const;
    await submit({ ...write, operation: 'update', object: { metadata: { name: 'big', labels: { a: 'b' }, finalizers: ['example.com/x'] } } });
    expect(state.list('namespaces')).toHaveLength(1);
    await submit({ ...write, operation: 'update', object: { metadata: { name: 'big' } } });
    await eventually(() => expect(state.list('namespaces')).toEqual([]));
  });
});
