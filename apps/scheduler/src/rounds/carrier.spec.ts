import { describe, expect, it } from '@jest/globals';
import type { Runner, RunnerStatus, Runtime, RuntimeRunner, RuntimeSpec, RuntimeStatus } from '@roundsman/api';
import { Arrivals } from './arrivals.ts';
import type { Task } from './caches.ts';
import { carrierOf } from './carrier.ts';

const settledAt = '2026-01-01T12:00:30.000Z';
const task = (spec: object = {}): Task => ({
  apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name: 't', namespace: 'shop', uid: 'task-1', resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T12:00:00Z' }, spec: spec as Task['spec'],
});
const own = { agentSpec: { kind: 'DaemonSet' } };
const runtime = (name: string, spec: Partial<RuntimeSpec>, status: Partial<RuntimeStatus> | undefined, created = '2026-01-01T12:00:00Z'): Runtime => ({
  apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name, namespace: 'x', uid: name, resourceVersion: '1', generation: 1, creationTimestamp: created },
  spec: { kind: 'DaemonSet', families: ['v4'], ingress: false, ...spec },
  ...(status === undefined ? {} : { status: { phase: 'Ready', settledAt, desired: 1, ready: 1, runners: [], paths: { services: [] }, conditions: [], ...status } }),
});
const ofTask = (name: string, status: Partial<RuntimeStatus> | undefined, created?: string): Runtime =>
  runtime(name, { task: { kind: 'NetReach', resource: 'r', namespace: 'shop', name: 't', uid: 'task-1' } }, status, created);
const runner = (name: string, of: Partial<RunnerStatus>): Runner => ({
  apiVersion: 'roundsman.io/v1', kind: 'Runner', metadata: { name, uid: name, resourceVersion: '1', generation: 1, creationTimestamp: '' }, spec: {},
  status: { node: 'n-1', runtime: 'default', instance: 'i', version: '1', ready: true, addresses: [{ family: 'v4', address: '10.0.0.1' }], ports: { http: 8080 }, capacityQps: 1000, lastTransitionTime: '', ...of },
});
const listed = (name: string, node: string, more: Partial<RuntimeRunner> = {}): RuntimeRunner => ({ runner: name, node, pod: name.split('.')[0]!, ready: true, ...more });

const carrier = (of: Task, { standard, runtimes = [], runners = [] }: { standard?: Runtime; runtimes?: Runtime[]; runners?: Runner[] }) =>
  carrierOf(
    of,
    {
      defaultRuntime: () => standard,
      runtimesOf: (uid) => runtimes.filter(({ spec }) => spec.task?.uid === uid),
      runnersOf: (name) => runners.filter(({ status }) => status?.runtime === name),
      runner: (name) => runners.find(({ metadata }) => metadata.name === name),
    },
    'default',
  );

describe('who carries a task', () => {
  const process = runtime('default', { kind: 'Process' }, { settledAt: undefined });
  const daemonSet = runtime('default', {}, { runners: [listed('p.roundsman-system', 'n-1')] });

  it('are processes, at once, where there is no runtime or one of processes', () => {
    const runners = [runner('b', {}), runner('a', { ready: false, reason: 'no heartbeat' }), runner('left.over', { pod: 'x/left' })];
    for (const standard of [undefined, process]) {
      expect(carrier(task(), { ...(standard === undefined ? {} : { standard }), runners })).toMatchObject({ runtime: 'default', fromMs: Date.parse('2026-01-01T12:00:00Z'), waitedFor: false, runners: [{ runner: 'a', notReady: 'no heartbeat' }, { runner: 'b', addresses: ['10.0.0.1'] }] });
    }
    // Taken through the kdoctor view: the default runners execute it, and the round says so.
    expect(carrier(task(own), { standard: process, runners })).toMatchObject({ runtime: 'default', capabilities: { workloads: false } });
  });

  it('is the default one once it has settled', () => {
    expect(carrier(task(), { standard: runtime('default', {}, { settledAt: undefined }) })).toBeUndefined();
    expect(carrier(task(), { standard: runtime('default', {}, undefined) })).toBeUndefined();
    expect(carrier(task(), { standard: daemonSet, runners: [runner('p.roundsman-system', { pod: 'roundsman-system/p' })] })).toMatchObject({ runtime: 'default', fromMs: Date.parse(settledAt), runners: [{ runner: 'p.roundsman-system', node: 'n-1', pod: 'p' }] });
  });

  it('is its own, found by its uid, never by a name; one that ends carries nothing', () => {
    const other = { ...ofTask('netreach-t-other', {}), spec: { ...ofTask('x', {}).spec, task: { ...ofTask('x', {}).spec.task!, uid: 'earlier' } } };
    expect(carrier(task(own), { standard: daemonSet })).toBeUndefined();
    expect(carrier(task(own), { runtimes: [other] })).toBeUndefined();
    expect(carrier(task(own), { standard: daemonSet, runtimes: [ofTask('mine', { settledAt: undefined })] })).toBeUndefined();
    expect(carrier(task(own), { standard: daemonSet, runtimes: [ofTask('mine', { phase: 'Ending' })] })).toBeUndefined();
    expect(carrier(task(own), { standard: process, runtimes: [other, ofTask('old', {}), ofTask('new', {}, '2026-01-02T00:00:00Z')] })?.runtime).toBe('new');
    // One that was made for an earlier agentSpec carries nothing either.
    expect(carrier(task(), { standard: daemonSet, runtimes: [ofTask('mine', {})] })?.runtime).toBe('default');
  });

  it('was waited for in vain when its workload was not ready by the time it settled, nor since, and nobody of it was heard', () => {
    const waitedFor = (status: 'True' | 'False', since: string, runners: Runner[] = []) =>
      carrier(task(own), { runtimes: [ofTask('mine', { runners: [listed('a.x', '', { ready: false })], conditions: [{ type: 'WorkloadReady', status, reason: 'R', message: 'm', lastTransitionTime: since }] })], runners })?.waitedFor;
    expect(waitedFor('False', '2026-01-01T12:00:00Z')).toBe(true);
    expect(waitedFor('True', '2026-01-01T12:00:00Z')).toBe(false);
    // Later it lost its runners: they may come back.
    expect(waitedFor('False', '2026-01-01T13:00:00Z')).toBe(false);
    expect(waitedFor('False', '2026-01-01T12:00:00Z', [runner('a.x', { pod: 'x/a', ready: false })])).toBe(false);
  });

  it('tells why its runners, Services and Ingress are not ready', () => {
    const conditions = [{ type: 'ServicesReady', status: 'True', reason: 'R', message: 'fine', lastTransitionTime: '' }, { type: 'IngressReady', status: 'False', reason: 'R', message: 'no controller', lastTransitionTime: '' }] as RuntimeStatus['conditions'];
    expect(carrier(task(own), { runtimes: [ofTask('mine', { conditions })] })?.reasons).toEqual({ workload: undefined, services: undefined, ingress: 'no controller' });
  });
});

describe('the runners that a round expects', () => {
  const expected = (pods: RuntimeRunner[], runners: Runner[]) => carrier(task(), { standard: runtime('default', {}, { runners: pods }), runners })?.runners.map(({ runner: name, node, notReady, coming }) => [name, node, notReady, coming]);
  const pod = (name: string, of: Partial<RunnerStatus> = {}): Runner => runner(name, { pod: `x/${name}`, ...of });

  it('are those of all its pods, each ready or with the reason', () => {
    expect(
      expected(
        [listed('d.x', 'n-4', { ready: false, reason: 'ImagePullBackOff: no such image' }), listed('a.x', 'n-1'), listed('b.x', 'n-2'), listed('c.x', 'n-3'), listed('none', '', { ready: false })],
        [pod('a.x'), pod('b.x', { node: 'n-2', ready: false, reason: 'no heartbeat since noon' }), pod('gone.x', { node: 'n-9' })],
      ),
    ).toEqual([
      ['a.x', 'n-1', undefined, false],
      ['b.x', 'n-2', 'no heartbeat since noon', false],
      ['c.x', 'n-3', 'its pod is ready, but the runner has not been heard yet: it may not reach NATS', true],
      ['d.x', 'n-4', 'ImagePullBackOff: no such image', false],
      ['none', '', 'its pod is not ready', false],
    ]);
  });

  it('a process stands for its node, and a pod for one whose process is away', () => {
    expect(expected([listed('a.x', 'n-1', { ready: false }), listed('b.x', 'n-2')], [runner('process-1', {}), pod('b.x', { node: 'n-2' }), runner('process-2', { node: 'n-2', ready: false })])).toEqual([
      ['b.x', 'n-2', undefined, false], ['process-1', 'n-1', undefined, false],
    ]);
    expect(expected([listed('a.x', 'n-1', { ready: false, reason: 'r' })], [runner('process-1', { ready: false, reason: 's' })])).toEqual([['a.x', 'n-1', 'r', false], ['process-1', 'n-1', 's', false]]);
  });
});

describe('a runner that was not heard yet', () => {
  const coming = (...names: string[]) => names.map((name) => ({ runner: name, node: '', coming: true, addresses: [], ports: {} }));
  it('is waited for once, for a while', () => {
    const arrivals = new Arrivals(5_000);
    expect(arrivals.waitUntil(coming('a'), 1_000)).toBe(6_000);
    expect(arrivals.waitUntil(coming('a', 'b'), 3_000)).toBe(8_000);
    expect(arrivals.waitUntil(coming('a'), 6_000)).toBeUndefined();
    expect(arrivals.waitUntil(coming('a'), 60_000)).toBeUndefined();
    expect(arrivals.waitUntil([{ ...coming('a')[0]!, coming: false }], 61_000)).toBeUndefined();
    expect(arrivals.waitUntil(coming('a'), 62_000)).toBe(67_000);
    arrivals.forget(['a']);
    expect(arrivals.waitUntil(coming('a'), 90_000)).toBe(95_000);
  });
});
