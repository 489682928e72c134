import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject, Node, Pod } from '@roundsman/api';
import { messages, type Change, type Write } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { ControlPlane } from './control-plane.ts';

const main = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'apps', 'roundsman', 'dist', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'roundsman-placement-'));
let plane: ControlPlane;
const children: ChildProcess[] = [];

beforeAll(async () => {
  plane = await ControlPlane.start([]);
  // These nodes have no agents: nobody shall call them lost.
  await plane.halt('controllers');
});
afterAll(async () => {
  await plane.stop();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all((await pods()).map(({ metadata: { name } }) => remove('pods', name, 0)));
  await Promise.all((await plane.list('nodes')).map(({ metadata: { name } }) => remove('nodes', name)));
});

const write = (request: Write): Promise<unknown> => plane.gateway.request(messages.write, {}, { user: 'tester', ...request });
const remove = (resource: string, name: string, gracePeriodSeconds?: number): Promise<unknown> =>
  write({ operation: 'delete', resource, ...(resource === 'nodes' ? {} : { namespace: 'default' }), name, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) });

/** As its agent and the controllers would keep it. */
async function addNode(name: string, allocatable: { cpu?: string; pods?: string } = {}, conditions: object[] = []): Promise<void> {
  const resources = { cpu: '2', memory: '4Gi', pods: '110', ...allocatable };
  const status = { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: '' }, ...conditions] };
  await write({ operation: 'create', resource: 'nodes', name, object: { metadata: { name, labels: { 'kubernetes.io/hostname': name } }, status }, user: 'system:roundsman:controllers' });
}
const podObject = (name: string, cpu = '10m', spec: Record<string, unknown> = {}) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'busybox', resources: { requests: { cpu } } }], ...spec } });
const pods = (): Promise<Pod[]> => plane.list<Pod>('pods');
const pod = (name: string): Promise<Pod> => plane.get<Pod>('pods', name);
const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((condition) => condition.type === type);
const allBound = (within = 60_000): Promise<unknown> => eventually(async () => expect((await pods()).filter(({ spec }) => spec.nodeName === undefined).map(({ metadata }) => metadata.name)).toEqual([]), { within });

interface Event extends KubeObject {
  readonly involvedObject: { readonly name: string };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}
const told = async (name: string): Promise<string[]> => (await plane.list<Event>('events')).filter((event) => event.involvedObject.name === name).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

/** Everything that ever happened, from the history: no pod was ever moved, no node ever given more than it has. Answers how many pods were bound. */
async function expectSoundHistory(): Promise<number> {
  const changes: Change[] = [];
  for (let since = 0, more = true; more; since = changes.at(-1)?.version ?? 0) {
    const page = await plane.store.changes(since, { limit: 1000 });
    changes.push(...page.changes);
    more = page.more;
  }
  const nodes = new Map<string, Node>();
  const placed = new Map<string, string>();
  const moved: string[] = [];
  const full: string[] = [];
  const ever = new Set<string>();
  for (const { resource, type, uid, name, object } of changes) {
    if (resource === 'nodes') nodes.set(name, object as unknown as Node);
    if (resource !== 'pods') continue;
    const at = type === 'DELETED' ? undefined : (object as unknown as Pod).spec.nodeName;
    const before = placed.get(uid);
    if (type !== 'DELETED' && before !== undefined && before !== at) moved.push(name);
    if (at === undefined) placed.delete(uid);
    else {
      placed.set(uid, at);
      ever.add(uid);
      if ([...placed.values()].filter((node) => node === at).length > Number(nodes.get(at)?.status?.allocatable?.['pods'])) full.push(`${name} on ${at}`);
    }
  }
  expect({ moved, full }).toEqual({ moved: [], full: [] });
  return ever.size;
}

/** A scheduler as a process of its own, to be killed. */
function startProcess(): ChildProcess {
  const keys = join(folder, 'keys');
  mkdirSync(keys, { recursive: true });
  writeFileSync(join(keys, 'scheduler.nk'), plane.nats.seed('scheduler'), { mode: 0o600 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ROUNDSMAN_NATS_URL: plane.nats.url, ROUNDSMAN_NATS_KEYS: keys, ROUNDSMAN_DATABASE_URL: plane.databaseUrl };
  const child = spawn(process.execPath, [main, 'serve', 'scheduler'], { env, stdio: 'ignore' });
  children.push(child);
  return child;
}

describe('pods get nodes', () => {
  it('says why not, and places a pod as soon as a node comes', async () => {
    await plane.create('pods', podObject('first'));
    await eventually(async () => expect(conditionOf(await pod('first'), 'PodScheduled')).toMatchObject({ status: 'False', reason: 'Unschedulable', message: 'no nodes available to schedule pods' }));
    await addNode('n1');
    await eventually(async () => expect((await pod('first')).spec.nodeName).toBe('n1'));
    expect(conditionOf(await pod('first'), 'PodScheduled')).toMatchObject({ status: 'True' });
    await eventually(async () => expect(await told('first')).toEqual(expect.arrayContaining(['Warning FailedScheduling: no nodes available to schedule pods', 'Normal Scheduled: Successfully assigned default/first to n1'])));
    expect(plane.problems()).toEqual([]);
  });

  it('tells what each node lacks, Docker among it', async () => {
    await addNode('full', { cpu: '1m' });
    await addNode('bare', {}, [{ type: 'ContainersRunnable', status: 'False', reason: 'NoDocker', message: 'Docker does not answer' }]);
    await plane.create('pods', podObject('p'));
    const message =
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) cannot run containers: Docker does not answer. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.';
    await eventually(async () => expect(conditionOf(await pod('p'), 'PodScheduled')?.message).toBe(message));
    // Once; which node the scheduler hears of first, and whether before the pod, is open.
    await eventually(async () => expect((await told('p')).filter((one) => one.endsWith(message))).toEqual([`Warning FailedScheduling: ${message}`]));
  });

  it('leaves pods alone that have a node, a gate, or another scheduler', async () => {
    await addNode('n1');
    await plane.create('pods', podObject('chosen', '10m', { nodeName: 'elsewhere' }));
    await plane.create('pods', podObject('gated', '10m', { schedulingGates: [{ name: 'example.com/wait' }] }));
    await plane.create('pods', podObject('foreign', '10m', { schedulerName: 'other' }));
    await plane.create('pods', podObject('ours'));
    await eventually(async () => expect((await pod('ours')).spec.nodeName).toBe('n1'));
    expect((await pod('chosen')).spec.nodeName).toBe('elsewhere');
    expect((await pod('gated')).spec.nodeName).toBeUndefined();
    expect((await pod('foreign')).spec.nodeName).toBeUndefined();
    await plane.edit('pods', 'gated', ({ spec }) => delete (spec as Pod['spec']).schedulingGates);
    await eventually(async () => expect((await pod('gated')).spec.nodeName).toBe('n1'));
  });

  it('makes room for a more important pod, with the grace its victim has', async () => {
    await addNode('n1', { cpu: '1' });
    await write({ operation: 'create', resource: 'priorityclasses.scheduling.k8s.io', name: 'urgent', object: { metadata: { name: 'urgent' }, value: 1000 } });
    await plane.create('pods', podObject('low', '600m'));
    await plane.create('pods', podObject('small', '300m'));
    await allBound();
    await plane.create('pods', podObject('high', '700m', { priorityClassName: 'urgent' }));
    const victim = await eventually(async () => {
      const low = await pod('low');
      expect(low.metadata.deletionTimestamp).toBeDefined();
      return low;
    });
    expect(victim.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(conditionOf(victim, 'DisruptionTarget')).toMatchObject({ status: 'True', reason: 'PreemptionByScheduler', message: 'default-scheduler: preempting to accommodate a higher priority pod' });
    const waiting = await eventually(async () => {
      const high = await pod('high');
      expect(high.status?.nominatedNodeName).toBe('n1');
      return high;
    });
    // Tried again meanwhile, it also says that it waits for its victim.
    expect(conditionOf(waiting, 'PodScheduled')?.message).toMatch(/^0\/1 nodes are available: 1 Insufficient cpu\.( |$)/);
    await eventually(async () => expect(await told('low')).toContain(`Normal Preempted: Preempted by pod ${waiting.metadata.uid} on node n1`));
    // Nobody takes the room that is being made.
    await plane.create('pods', podObject('greedy', '100m'));
    await remove('pods', 'low', 0);
    await eventually(async () => expect((await pod('high')).spec.nodeName).toBe('n1'));
    expect((await pod('small')).metadata.deletionTimestamp).toBeUndefined();
    expect((await pod('greedy')).spec.nodeName).toBeUndefined();
  });
});

describe('nothing is bound twice', () => {
  it('by two schedulers, of which the leader stops half-way', async () => {
    for (const name of ['n1', 'n2', 'n3']) await addNode(name, { pods: '50' });
    await plane.run('scheduler', 'second');
    try {
      const made = Promise.all(Array.from({ length: 120 }, (_, index) => plane.create('pods', podObject(`p${index}`))));
      await eventually(async () => expect((await pods()).filter(({ spec }) => spec.nodeName !== undefined).length).toBeGreaterThan(20));
      await plane.halt('scheduler');
      await made;
      await allBound();
      expect(await plane.metric('second', 'roundsman_scheduler_pod_attempts_total', { result: 'error' })).toBe(0);
      await expectSoundHistory();
    } finally {
      await plane.halt('second');
      await plane.run('scheduler');
    }
  });

  it('by a scheduler that is killed while it binds, and the next one', async () => {
    for (const name of ['n1', 'n2', 'n3']) await addNode(name, { pods: '110' });
    await plane.halt('scheduler');
    const child = startProcess();
    await plane.create('pods', podObject('first'));
    await allBound();
    const before = await expectSoundHistory();
    const made = Promise.all(Array.from({ length: 300 }, (_, index) => plane.create('pods', podObject(`p${index}`))));
    await eventually(async () => expect((await pods()).filter(({ spec }) => spec.nodeName !== undefined).length).toBeGreaterThan(50), { every: 5 });
    child.kill('SIGKILL');
    // Some that it cannot have got to.
    await Promise.all(Array.from({ length: 20 }, (_, index) => plane.create('pods', podObject(`late${index}`))));
    await made;
    const left = (await pods()).filter(({ spec }) => spec.nodeName === undefined).length;
    await plane.run('scheduler');
    await allBound();
    expect(await expectSoundHistory()).toBe(before + 320);
    expect(left).toBeGreaterThanOrEqual(20);
  });
});
