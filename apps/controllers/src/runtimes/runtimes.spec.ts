import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runtimeNameOf, tokenHashOf, type AnyTask, type DaemonSet, type EventObject, type KubeObject, type Round, type Runner, type Runtime, type Service } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { ClusterError, resources } from '@roundsman/cluster';
import { TestCluster } from '../testing/cluster.ts';
import { installationLabel } from './manifests/labels.ts';
import { tokenOf } from './manifests/secret.ts';
import { PlayedKubernetes } from './testing/kubernetes.ts';
import type { Secret } from './upkeep/runtime-view.ts';

const nodes = ['a', 'b'];
const task = (name: string, spec: object = {}) => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name },
  spec: { agentSpec: { terminationGracePeriodMinutes: 0 }, schedule: { startAfterSeconds: 3_600, intervalSeconds: 60 }, request: { qps: 1, durationInSecond: 1 }, ...spec },
});

describe('runtimes', () => {
  let cluster: TestCluster;
  let kubernetes: PlayedKubernetes;
  beforeAll(async () => {
    kubernetes = new PlayedKubernetes(nodes, () => cluster.bus);
    const settings = { ROUNDSMAN_CONTROLLERS_KUBECONFIG: 'in memory', ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME: 'daemonset', ROUNDSMAN_CONTROLLERS_RUNTIME_WAIT_MS: '30000', ROUNDSMAN_CONTROLLERS_RUNNER_LOST_MS: '1500' };
    cluster = await TestCluster.start(settings, undefined, kubernetes);
  });
  afterAll(async () => {
    await cluster.stop();
    kubernetes.close();
  });

  const runtimeOf = async ({ kind, metadata: { name, uid } }: KubeObject): Promise<Runtime | undefined> => cluster.get<Runtime>('runtimes.roundsman.io', runtimeNameOf(kind as 'NetReach', name, uid), 'default');
  const taskNamed = (name: string): Promise<AnyTask | undefined> => cluster.get<AnyTask>('netreaches.roundsman.io', name);
  const condition = (object: AnyTask | undefined): string => {
    const { status, reason } = object?.status?.conditions?.find(({ type }) => type === 'RuntimeReady') ?? {};
    return `${status} ${reason}`;
  };
  /** The Runtime once all that belongs to it is made. */
  const madeFor = (object: KubeObject): Promise<Runtime> =>
    cluster.until(async () => {
      const runtime = (await runtimeOf(object))!;
      const { workload } = runtime.spec;
      expect(await kubernetes.made('default', runtime.metadata.name)).toEqual([`DaemonSet/${workload}`, `Secret/${workload}`, `Service/${workload}-v4`]);
      return runtime;
    });
  const readyFor = async (object: KubeObject): Promise<Runtime> => {
    await kubernetes.run('default', await madeFor(object));
    return cluster.until(async () => {
      const runtime = (await runtimeOf(object))!;
      expect([runtime.status?.phase, condition(await taskNamed(object.metadata.name))]).toEqual(['Ready', 'True RuntimeReady']);
      return runtime;
    });
  };

  it('the default one is there from the start, with its Services and its Ingress, in a namespace of its own', async () => {
    await cluster.until(async () => expect(await kubernetes.made('roundsman-system', 'default')).toEqual(['DaemonSet/probe-runner', 'Ingress/probe-runner', 'Secret/probe-runner', 'Service/probe-runner-v4']));
    expect(await kubernetes.get(resources.namespaces, undefined, 'roundsman-system')).toBeDefined();
    const runtime = (await cluster.get<Runtime>('runtimes.roundsman.io', 'default', 'roundsman-system'))!;
    await kubernetes.run('roundsman-system', runtime);
    await cluster.until(async () => expect((await cluster.get<Runtime>('runtimes.roundsman.io', 'default', 'roundsman-system'))?.status).toMatchObject({ phase: 'Ready', ready: 2, desired: 2, paths: { ingress: { addresses: [{ ip: '10.9.0.1' }] } } }));
    const light = await cluster.create<AnyTask>(task('light', { agentSpec: undefined }));
    await cluster.until(async () => expect((await taskNamed('light'))?.status).toMatchObject({ resource: { runtimeName: 'probe-runner', runtimeType: 'DaemonSet', runtimeStatus: 'created', serviceNameV4: 'probe-runner-v4' } }));
    expect((await taskNamed('light'))?.metadata.finalizers).toBeUndefined();
    expect(await runtimeOf(light)).toBeUndefined();
    await cluster.delete('netreaches.roundsman.io', 'light');
    await cluster.until(async () => expect(await taskNamed('light')).toBeUndefined());
    expect(await kubernetes.made('roundsman-system', 'default')).toHaveLength(4);
  });

  it('that of a task is made, seen, mended, and goes with it', async () => {
    const mesh = await cluster.create<AnyTask>(task('mesh'));
    const made = await madeFor(mesh);
    const { workload = '' } = made.spec;
    // The status is another loop's.
    await cluster.until(async () => {
      const seen = await taskNamed('mesh');
      expect(condition(seen)).toMatch(/^False /);
      expect(seen?.status).toMatchObject({ resource: { runtimeName: workload, runtimeType: 'DaemonSet', runtimeStatus: 'creating', serviceNameV4: `${workload}-v4` } });
      expect(seen?.status).not.toHaveProperty('nextRoundTime');
    });
    const ready = await readyFor(mesh);
    expect((await taskNamed('mesh'))?.status).toMatchObject({ resource: { runtimeStatus: 'created' }, nextRoundTime: expect.any(String) });
    const set = (await kubernetes.get<DaemonSet>(resources.daemonSets, 'default', workload))!;
    const service = (await kubernetes.get<Service>(resources.services, 'default', `${workload}-v4`))!;
    const secret = (await kubernetes.get<Secret>(resources.secrets, 'default', workload))!;
    expect(set.metadata.ownerReferences).toMatchObject([{ kind: 'NetReach', uid: mesh.metadata.uid }]);
    expect([service.metadata.ownerReferences, secret.metadata.ownerReferences]).toMatchObject([[{ kind: 'DaemonSet', uid: set.metadata.uid }], [{ kind: 'NetReach' }]]);
    expect(tokenHashOf(tokenOf(secret)!)).toBe(ready.spec.tokenHash);
    expect(JSON.stringify(ready)).not.toContain(tokenOf(secret));

    // Somebody edits, somebody deletes.
    kubernetes.change<DaemonSet>(resources.daemonSets, 'default', workload, ({ spec }) => (spec.template.spec.containers[0]!.image = 'another'));
    await kubernetes.delete(resources.services, 'default', `${workload}-v4`);
    await cluster.until(async () => {
      expect((await kubernetes.get<DaemonSet>(resources.daemonSets, 'default', workload))?.spec.template.spec.containers[0]?.image).toMatch(/^roundsman\/probe-runner:/);
      expect(await kubernetes.get(resources.services, 'default', `${workload}-v4`)).toBeDefined();
    });
    // A Secret that is removed asks for a new token, and pods that have it.
    const before = (await kubernetes.get<DaemonSet>(resources.daemonSets, 'default', workload))?.spec.template.metadata?.annotations;
    await kubernetes.delete(resources.secrets, 'default', workload);
    await cluster.until(async () => {
      const token = tokenOf(await kubernetes.get<Secret>(resources.secrets, 'default', workload));
      expect([token === undefined, token === tokenOf(secret), (await runtimeOf(mesh))?.spec.tokenHash]).toEqual([false, false, tokenHashOf(token ?? '')]);
      expect((await kubernetes.get<DaemonSet>(resources.daemonSets, 'default', workload))?.spec.template.metadata?.annotations).not.toEqual(before);
    });

    // What it tests from now on, and what no more.
    await cluster.edit<AnyTask>('netreaches.roundsman.io', 'mesh', ({ spec }) => ((spec as unknown as { target: object }).target = { ingress: true, nodePort: true }));
    await cluster.until(async () => {
      expect(await kubernetes.made('default', ready.metadata.name)).toContain(`Ingress/${workload}`);
      expect((await kubernetes.get<Service>(resources.services, 'default', `${workload}-v4`))?.spec.type).toBe('NodePort');
    });
    await cluster.edit<AnyTask>('netreaches.roundsman.io', 'mesh', ({ spec }) => ((spec as unknown as { target: object }).target = {}));
    await cluster.until(async () => expect(await kubernetes.made('default', ready.metadata.name)).toHaveLength(3));

    // Deleted while a round is open: nothing goes before it is closed and told.
    const round = await cluster.create<Round>({
      apiVersion: 'roundsman.io/v1', kind: 'Round', metadata: { name: 'mesh-1', labels: { 'roundsman.io/task-uid': mesh.metadata.uid } },
      spec: { taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: 'mesh', uid: mesh.metadata.uid, generation: 1 }, number: 1, startTime: new Date().toISOString(), deadline: new Date(Date.now() + 60_000).toISOString(), taskSpec: {}, runners: [], trigger: 'run-now' },
    });
    await cluster.delete('netreaches.roundsman.io', 'mesh');
    kubernetes.change<DaemonSet>(resources.daemonSets, 'default', workload, ({ metadata }) => (metadata.labels = { ...metadata.labels, touched: 'yes' }));
    await cluster.until(async () => expect((await taskNamed('mesh'))?.metadata).toMatchObject({ deletionTimestamp: expect.any(String), finalizers: ['roundsman.io/runtime'] }));
    expect(await kubernetes.made('default', ready.metadata.name)).toHaveLength(3);
    await cluster.write({ operation: 'updateStatus', resource: 'rounds.roundsman.io', namespace: 'default', name: 'mesh-1', object: { ...round, status: { state: 'canceled', closedAt: new Date().toISOString() } } as never });
    await cluster.until(async () => {
      expect([await taskNamed('mesh'), await runtimeOf(mesh)]).toEqual([undefined, undefined]);
      expect(await kubernetes.made('default', ready.metadata.name)).toEqual([]);
    });
    await cluster.until(async () => expect((await cluster.events(mesh)).map((text) => text.split(':')[0])).toEqual(expect.arrayContaining(['RuntimeCreated', 'RuntimeReady', 'RuntimeEnding', 'RuntimeRemoved'])));
    // Its runners are forgotten as soon as they are silent, not after a day.
    await kubernetes.end('default', ready);
    await cluster.until(async () => expect((await cluster.list<Runner>('runners.roundsman.io')).filter(({ status }) => status?.runtime === ready.metadata.name)).toEqual([]));
  });

  it('a task that is done keeps its own no longer than it says; a run of it makes a new one', async () => {
    const once = await cluster.create<AnyTask>(task('once', { schedule: { startAfterSeconds: 0 } }));
    const first = await readyFor(once);
    const close = async (number: number, runNow: string): Promise<void> => {
      const labels = { 'roundsman.io/task-uid': once.metadata.uid };
      const annotations = { 'roundsman.io/scheduled-rounds': '1', 'roundsman.io/last-scheduled-start': new Date().toISOString(), 'roundsman.io/run-now': runNow };
      const spec = { taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: 'once', uid: once.metadata.uid, generation: 1 }, number, startTime: new Date().toISOString(), deadline: new Date(Date.now() + 60_000).toISOString(), taskSpec: {}, runners: [], trigger: runNow === '' ? 'schedule' : 'run-now' };
      const round = await cluster.create<Round>({ apiVersion: 'roundsman.io/v1', kind: 'Round', metadata: { name: `once-${number}`, labels, annotations }, spec });
      await cluster.write({ operation: 'updateStatus', resource: 'rounds.roundsman.io', namespace: 'default', name: `once-${number}`, object: { ...round, status: { state: 'succeed', closedAt: new Date().toISOString() } } as never });
    };
    const gone = async (): Promise<unknown> => cluster.until(async () => expect([(await taskNamed('once'))?.status?.resource?.runtimeStatus, (await taskNamed('once'))?.metadata.finalizers ?? [], await kubernetes.made('default', first.metadata.name)]).toEqual(['deleted', [], []]));
    await close(1, '');
    await gone();
    await kubernetes.end('default', first);
    await cluster.edit<AnyTask>('netreaches.roundsman.io', 'once', ({ metadata }) => (metadata.annotations = { ...metadata.annotations, 'roundsman.io/run-now': 'again' }));
    const second = await readyFor(once);
    expect([second.metadata.name, second.metadata.uid === first.metadata.uid, second.spec.tokenHash === first.spec.tokenHash]).toEqual([first.metadata.name, false, false]);
    await close(2, 'again');
    await gone();
    await cluster.delete('netreaches.roundsman.io', 'once');
    await cluster.until(async () => expect(await taskNamed('once')).toBeUndefined());
    await kubernetes.end('default', second);
  });

  it('what the Kubernetes API refuses is told, and waits until it does not', async () => {
    kubernetes.before = (verb, { resource, namespace }) => {
      if (verb === 'apply' && resource.kind === 'DaemonSet' && namespace === 'default') throw new ClusterError('daemonsets.apps is forbidden: exceeded quota: small', 403, 'Forbidden');
    };
    const refused = await cluster.create<AnyTask>(task('refused'));
    await cluster.until(async () => {
      expect(condition(await taskNamed('refused'))).toBe('False WorkloadNotMade');
      expect((await runtimeOf(refused))?.status?.runners).toEqual(nodes.map((node) => expect.objectContaining({ node, ready: false, reason: 'daemonsets.apps is forbidden: exceeded quota: small' })));
    });
    // Away altogether: the end waits for it, and says so.
    let removals = 0;
    kubernetes.before = (verb, { resource, namespace }) => {
      if (verb === 'get' && resource.kind === 'DaemonSet' && namespace === 'default') removals += 1;
      throw new Error('connect ECONNREFUSED');
    };
    await cluster.delete('netreaches.roundsman.io', 'refused');
    await cluster.until(async () => expect((await taskNamed('refused'))?.status?.conditions?.find(({ type }) => type === 'RuntimeReady')).toMatchObject({ status: 'False', reason: 'RuntimeEnding', message: expect.stringContaining('ECONNREFUSED') }));
    // Tried on, told once.
    await cluster.until(async () => expect(removals).toBeGreaterThan(3));
    await cluster.until(async () => {
      const told = (await cluster.list<EventObject & KubeObject>('events')).filter(({ involvedObject, reason }) => involvedObject.uid === refused.metadata.uid && reason === 'RuntimeNotRemoved');
      expect(told.map(({ count }) => count)).toEqual([1]);
    });
    kubernetes.before = () => undefined;
    await cluster.until(async () => expect(await taskNamed('refused')).toBeUndefined());
  });

  it('a runner is believed only what its Runtime says too', async () => {
    const beat = { node: 'z', runtime: 'default', instance: 'i', version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 10 };
    const say = (runner: string, pod?: string): void => cluster.bus.publish(messages.runnerBeat, { node: 'z', runner }, { ...beat, runner, sentAt: new Date().toISOString(), ...(pod === undefined ? {} : { pod }) });
    await cluster.until(async () => {
      // As a process of the default runtime, as a pod that it does not have, as another's pod.
      say('netreach-own-x.default');
      say('netreach-own-y.default', 'default/netreach-own-y');
      say('netreach-own-z.default', 'roundsman-system/probe-runner-a');
      say('default-z');
      const names = (await cluster.list<Runner>('runners.roundsman.io')).filter(({ status }) => status?.node === 'z').map(({ metadata }) => metadata.name);
      expect(names).toContain('default-z');
      expect(names).toEqual(['default-z']);
    });
  });

  it('what is left of runtimes that there are not is removed; what others made stays', async () => {
    const { labels } = (await kubernetes.get<KubeObject>(resources.services, 'roundsman-system', 'probe-runner-v4'))!.metadata;
    const leave = (name: string, installation: string | undefined) =>
      kubernetes.change<KubeObject>(resources.services, 'default', name, ({ metadata }) => (metadata.labels = { 'roundsman.io/runtime': name, [installationLabel]: installation ?? '' }));
    leave('of-another', 'another');
    leave('left-over', labels?.[installationLabel]);
    await cluster.until(async () => expect(await kubernetes.get(resources.services, 'default', 'left-over')).toBeUndefined());
    expect(await kubernetes.get(resources.services, 'default', 'of-another')).toBeDefined();
  });

  it('the default one is made anew when processes take the place of pods', async () => {
    const before = (await cluster.get<Runtime>('runtimes.roundsman.io', 'default', 'roundsman-system'))!;
    await cluster.stopControllers();
    await cluster.startControllers({ ROUNDSMAN_CONTROLLERS_KUBECONFIG: 'in memory' });
    await cluster.until(async () => {
      const { metadata, spec } = (await cluster.get<Runtime>('runtimes.roundsman.io', 'default', 'roundsman-system'))!;
      expect([metadata.uid === before.metadata.uid, spec]).toEqual([false, { kind: 'Process', families: [], ingress: false }]);
      expect(await kubernetes.made('roundsman-system', 'default')).toEqual([]);
    });
    await expect(cluster.create(task('late'))).rejects.toThrow('spec.agentSpec');
  });
});
