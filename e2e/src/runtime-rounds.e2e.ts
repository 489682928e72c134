import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runtimeFinalizer, taskAnnotations, type KubeObject, type RunnerStatus, type RuntimeRunner, type RuntimeSpec, type RuntimeStatus } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { ControlPlane } from './control-plane.ts';

const netReaches = 'netreaches.roundsman.io';
const runtimes = 'runtimes.roundsman.io';
const runnersResource = 'runners.roundsman.io';
const user = 'system:roundsman:controllers';

describe('rounds of runtimes', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await ControlPlane.start(['runner-1', 'runner-2'], { ROUNDSMAN_SCHEDULER_REPUBLISH_MS: '1000', ROUNDSMAN_SCHEDULER_HEARTBEAT_WAIT_MS: '60000', ROUNDSMAN_SCHEDULER_LATE_MS: '20000' }, { controllers: false });
    await putRuntime('default', 'roundsman-system', {}, {});
  });
  afterAll(async () => {
    await plane.stop();
  });

  /** As the controllers do: makes the object when it is not there, and tells its status. */
  async function put(resource: string, namespace: string | undefined, name: string, object: Record<string, unknown>, status: object): Promise<void> {
    const at = { resource, ...(namespace === undefined ? {} : { namespace }), name, user };
    if ((await plane.store.get(resource, namespace ?? '', name)) === undefined) await plane.gateway.request(messages.write, {}, { ...at, operation: 'create', object });
    await plane.gateway.request(messages.write, {}, { ...at, operation: 'updateStatus', object: { ...object, status } });
  }
  const putRuntime = (name: string, namespace: string, spec: Partial<RuntimeSpec>, status: Partial<RuntimeStatus>): Promise<void> =>
    put(
      runtimes, namespace, name,
      { apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name, namespace }, spec: { kind: 'DaemonSet', families: ['v4'], ingress: false, ...spec } },
      { phase: 'Creating', desired: 2, ready: 0, runners: [], paths: { services: [] }, conditions: [], ...status },
    );
  const ofTask = (task: KubeObject, status: Partial<RuntimeStatus>, name = `own-${task.metadata.name}`): Promise<void> =>
    putRuntime(name, 'default', { task: { kind: 'NetReach', resource: netReaches, namespace: 'default', name: task.metadata.name, uid: task.metadata.uid } }, status);
  const putRunner = (name: string, runtime: string, address: string, ready = true): Promise<void> =>
    put(runnersResource, undefined, name, { apiVersion: 'roundsman.io/v1', kind: 'Runner', metadata: { name }, spec: {} }, {
      node: name.replace('runner', 'node'), runtime, pod: `default/${name}`, instance: 'i', version: '0.1.0', ready, ...(ready ? {} : { reason: 'no heartbeat' }),
      addresses: [{ family: 'v4', address }], ports: { http: 8080, https: 8443, dns: 8053, dot: 8853, udp: 8007 }, capacityQps: 1000, lastTransitionTime: new Date().toISOString(),
    } satisfies RunnerStatus);
  const pods: RuntimeRunner[] = ['1', '2'].map((n) => ({ runner: `runner-${n}`, node: `node-${n}`, pod: `runner-${n}`, ready: true }));
  const settled = (more: Partial<RuntimeStatus> = {}): Partial<RuntimeStatus> => ({ phase: 'Ready', ready: 2, settledAt: new Date().toISOString(), runners: pods, ...more });
  const netReach = (name: string, spec: object, finalizers?: string[]) =>
    plane.create(netReaches, { apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name, ...(finalizers === undefined ? {} : { finalizers }) }, spec: { request: { durationInSecond: 1, qps: 5 }, ...spec } });
  /** In which something must not happen. */
  const passes = async (ms: number): Promise<void> => {
    const since = Date.now();
    await eventually(() => Date.now() - since > ms, { within: ms * 4, every: 100 });
  };
  const takes = (ms: number): void => plane.runners.forEach((runner) => (runner.takesMs = ms));
  const orders = (task: KubeObject) => plane.ran(task.metadata.uid).map(({ runner, order }) => [runner, order.targets.map((target) => `${target.id} ${target.probe === 'http' ? target.url.split('?')[0] : ''}`)]);

  it('wait for the runtime of their task, and count from when it settled', async () => {
    for (const n of ['1', '2']) await putRunner(`runner-${n}`, 'own-mesh', `10.244.${n}.2`);
    const task = await netReach('mesh', { agentSpec: {}, schedule: { intervalSeconds: 8, roundNumber: 2, roundTimeoutSeconds: 8 }, target: { clusterIP: true, nodePort: true, loadBalancer: true } });
    await ofTask(task, { runners: pods });
    // Longer than the interval: nothing is missed meanwhile.
    await passes(8_500);
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    const status = settled({
      runners: [...pods, { runner: 'pending', node: 'node-3', ready: false, reason: 'ImagePullBackOff' }],
      paths: { services: [{ family: 'v4', name: 'own-mesh-v4', port: 80, clusterIP: '10.96.0.9', nodePort: 30_080 }], nodes: [{ name: 'node-3', addresses: [{ family: 'v4', address: '172.18.0.3' }] }] },
    });
    await ofTask(task, status);
    await eventually(async () => expect((await plane.rounds(task.metadata.uid)).map((round) => round.status?.closedAt !== undefined)).toEqual([true, true]), { within: 60_000 });
    const [first, second] = await plane.rounds(task.metadata.uid);
    expect([first, second].map((round) => [round?.spec.trigger, Date.parse(round?.spec.startTime ?? '') - Date.parse(status.settledAt ?? '')])).toEqual([['schedule', 0], ['schedule', 8_000]]);
    expect(first?.spec).toMatchObject({
      runtime: 'own-mesh',
      runners: [{ runner: 'pending', node: 'node-3', notReady: 'ImagePullBackOff' }, { runner: 'runner-1', pod: 'runner-1', addresses: ['10.244.1.2'] }, { runner: 'runner-2' }],
      notTested: ['spec.target.loadBalancer over IPv4: Service own-mesh-v4 has no load balancer address'],
    });
    const targets = ['endpoint/v4/node-1 http://10.244.1.2:8080/', 'endpoint/v4/node-2 http://10.244.2.2:8080/', 'clusterIP/v4 http://10.96.0.9:80/', 'nodePort/v4/node-3 http://172.18.0.3:30080/'];
    expect(orders(task).sort()).toEqual(['runner-1', 'runner-1', 'runner-2', 'runner-2'].map((runner) => [runner, targets]));
    expect(plane.problems()).toEqual([]);
  });

  it('keep their targets when a runner moves and the scheduler begins anew', async () => {
    const [first, second] = plane.runners;
    await second?.stop();
    takes(60_000);
    const task = await netReach('kept', { agentSpec: {} });
    await ofTask(task, settled());
    await eventually(() => plane.ran(task.metadata.uid).length === 1);
    await plane.halt('scheduler');
    await putRunner('runner-1', 'own-kept', '10.244.7.7');
    await plane.nats.wipe();
    await plane.run('scheduler');
    await second?.start();
    await eventually(() => plane.ran(task.metadata.uid).length === 2, { within: 60_000 });
    const targets = ['endpoint/v4/node-1 http://10.244.1.2:8080/', 'endpoint/v4/node-2 http://10.244.2.2:8080/'];
    expect(orders(task)).toEqual([[first?.name, targets], [second?.name, targets]]);
    await plane.remove(netReaches, 'kept');
    takes(50);
  });

  it('wait for a runner whose pod is ready, until it is heard', async () => {
    const task = await netReach('heard', { agentSpec: {} });
    await ofTask(task, settled({ runners: [...pods, { runner: 'new', node: 'node-9', pod: 'new', ready: true }] }));
    await putRunner('runner-1', 'own-heard', '10.244.1.2');
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    await putRunner('new', 'own-heard', '10.244.9.9', false);
    await eventually(async () => expect((await plane.rounds(task.metadata.uid))[0]?.spec.runners.map(({ runner, notReady }) => [runner, notReady])).toEqual([['new', 'no heartbeat'], ['runner-1', undefined], ['runner-2', undefined]]));
  });

  it('are ended as soon as the task is being deleted, and none begins any more', async () => {
    takes(60_000);
    const task = await netReach('leaving', { agentSpec: {}, schedule: { intervalSeconds: 120, roundTimeoutSeconds: 60, roundNumber: -1 } }, [runtimeFinalizer]);
    await ofTask(task, settled());
    await eventually(() => plane.ran(task.metadata.uid).length >= 2);
    await plane.remove(netReaches, 'leaving');
    // Its end is a minute away: nothing but the deletion stops it.
    await eventually(() => expect(plane.ran(task.metadata.uid).map(({ canceled }) => canceled)).toEqual([true, true]), { within: 60_000 });
    await eventually(async () => expect((await plane.rounds(task.metadata.uid)).map(({ status }) => status?.state)).toEqual(['canceled']), { within: 60_000 });
    await plane.edit(netReaches, 'leaving', ({ metadata }) => (metadata.annotations = { [taskAnnotations.runNow]: 'now' }));
    // What is asked for now would begin at once.
    await passes(2_500);
    expect(await plane.rounds(task.metadata.uid)).toHaveLength(1);
    await plane.edit(netReaches, 'leaving', ({ metadata }) => delete metadata.finalizers);
    takes(50);
  });

  it('of a task without a runtime of its own wait for the default one', async () => {
    const task = await netReach('plain', {});
    await passes(1_000);
    expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    await putRuntime('default', 'roundsman-system', {}, settled());
    await eventually(async () => expect((await plane.rounds(task.metadata.uid))[0]?.spec).toMatchObject({ runtime: 'default', runners: [{ runner: 'runner-1', pod: 'runner-1' }, { runner: 'runner-2' }] }));
  });

  it('of a NetDNS with targetDns wait until its servers are found', async () => {
    const netDnses = 'netdnses.roundsman.io';
    const dns = { apiVersion: 'roundsman.io/v1', kind: 'NetDNS', metadata: { name: 'names' }, spec: { target: { targetDns: { testIPv4: true } }, request: { durationInSecond: 1, domain: 'example.com' } } };
    const task = await plane.create(netDnses, dns);
    const found = { type: 'TargetsFound', status: 'False', reason: 'NoService', message: 'there is no such Service', lastTransitionTime: new Date().toISOString(), observedGeneration: 1 };
    for (const status of [undefined, { conditions: [found] }]) {
      if (status !== undefined) await put(netDnses, 'default', 'names', dns, status);
      await passes(500);
      expect(await plane.rounds(task.metadata.uid)).toEqual([]);
    }
    await put(netDnses, 'default', 'names', dns, { dnsServers: [{ service: 'kube-system/kube-dns', address: '10.96.0.10', port: 53 }], conditions: [{ ...found, status: 'True' }] });
    await eventually(() => expect(orders(task).sort()).toEqual([['runner-1', ['dns/udp/10.96.0.10:53/A/example.com ']], ['runner-2', ['dns/udp/10.96.0.10:53/A/example.com ']]]));
    expect((await plane.rounds(task.metadata.uid))[0]?.spec).not.toHaveProperty('notTested');
  });
});
