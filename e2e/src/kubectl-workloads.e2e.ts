import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { FakeAgent } from './fake-agent.ts';
import { KubectlCluster } from './kubectl-cluster.ts';

/** Pods and workloads as objects: intake and gateway alone, no controller, no scheduler; the agent of node-1 is a stand-in. */
let cluster: KubectlCluster;
let agent: FakeAgent;
const kubectl = (...args: string[]): Promise<string> => cluster.must(args);
const refused = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await cluster.kubectl(args);
  expect(code).not.toBe(0);
  return stderr;
};
const json = async <T>(...args: string[]): Promise<T> => JSON.parse(await kubectl('get', ...args, '-o', 'json', '--show-managed-fields')) as T;
const post = (path: string, body: object): ReturnType<KubectlCluster['http']> => cluster.http(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
const create = (object: object): Promise<string> => cluster.must(['create', '-f', '-'], { input: JSON.stringify(object) });
const podObject = (name: string, spec: object = {}, labels: object = {}): object => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: { containers: [{ name: 'main', image: 'any' }], ...spec } });

interface Workload {
  metadata: { name: string; uid: string; resourceVersion: string; generation: number; annotations?: Record<string, string>; finalizers?: string[]; deletionTimestamp?: string; deletionGracePeriodSeconds?: number; managedFields: { manager: string; subresource?: string; fieldsV1: object }[] };
  spec: { replicas: number; paused?: boolean; unschedulable?: boolean; nodeName?: string; taints?: object[]; template: { metadata: { annotations?: Record<string, string> }; spec: { containers: { image: string; env?: object[]; resources: object }[] } } };
  status?: { phase?: string; conditions?: { type: string; reason: string }[] };
}

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  const folder = join(cluster.folder, 'node');
  mkdirSync(folder);
  agent = new FakeAgent('node-1', await cluster.nats.connect('agent-node-1'), folder);
  await agent.start();
  await create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1', labels: { disk: 'fast' } } });
  await create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-2' } });
}, 120_000);
afterAll(async () => {
  await agent?.stop();
  await cluster?.stop();
});

describe('a deployment', () => {
  it('is created, listed among all, and changed by every verb of kubectl', async () => {
    await kubectl('create', 'deployment', 'web', '--image=nginx:1', '--replicas=3', '--port=80');
    expect(await kubectl('get', 'all')).toMatch(/deployment\.apps\/web +0\/3 +0 +0 /);
    await kubectl('set', 'image', 'deploy/web', 'nginx=nginx:2');
    await kubectl('set', 'env', 'deploy/web', 'A=B');
    await kubectl('set', 'resources', 'deploy/web', '--limits=cpu=200m,memory=512Mi');
    await kubectl('rollout', 'pause', 'deploy/web');
    expect((await json<Workload>('deploy', 'web')).spec.paused).toBe(true);
    await kubectl('rollout', 'resume', 'deploy/web');
    await kubectl('rollout', 'restart', 'deploy/web');
    const { spec } = await json<Workload>('deploy', 'web');
    expect(spec.template.spec.containers).toMatchObject([{ image: 'nginx:2', env: [{ name: 'A', value: 'B' }], resources: { limits: { cpu: '200m', memory: '512Mi' } } }]);
    expect(spec.template.metadata.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt']);
    expect(await kubectl('describe', 'deploy', 'web')).toMatch(/RollingUpdateStrategy: +25% max unavailable, 25% max surge/);
    expect(await refused('rollout', 'undo', 'deploy/web')).toContain('no rollout history found');
    expect(await refused('rollout', 'status', 'deploy/web', '--timeout=1s')).toContain('timed out waiting');
  });

  it('is scaled by a subresource, which owns what it sets and is kept to by versions', async () => {
    await kubectl('scale', 'deploy/web', '--replicas=5');
    expect(await json<Workload>('deploy', 'web')).toMatchObject({ spec: { replicas: 5 } });
    expect((await json<Workload>('deploy', 'web')).metadata.managedFields).toContainEqual(expect.objectContaining({ subresource: 'scale', fieldsV1: { 'f:spec': expect.objectContaining({ 'f:replicas': {} }) } }));
    expect(await kubectl('scale', 'deploy/web', '--current-replicas=5', '--replicas=4')).toContain('scaled');
    expect(await refused('scale', 'deploy/web', '--current-replicas=5', '--replicas=6')).toContain('Expected replicas to be 5, was 4');
    expect(await kubectl('get', 'deploy', 'web', '--subresource=scale')).toMatch(/^NAME +DESIRED +AVAILABLE +AGE\nweb +4 +0 /);
    expect(await kubectl('patch', 'deploy', 'web', '--subresource=scale', '--type=json', '-p', '[{"op":"replace","path":"/spec/replicas","value":2}]')).toContain('scale.autoscaling/web patched');
    const path = '/apis/apps/v1/namespaces/default/deployments/web/scale';
    const scale = (await cluster.http(path)).json;
    expect(scale).toMatchObject({ kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'web', namespace: 'default' }, spec: { replicas: 2 }, status: { replicas: 0, selector: 'app=web' } });
    // kubectl puts it without a Content-Type.
    const put = (body: object): ReturnType<typeof cluster.http> => cluster.http(path, { method: 'PUT', body: Buffer.from(JSON.stringify(body)) });
    expect((await put({ ...scale, spec: { replicas: 7 } })).json).toMatchObject({ kind: 'Scale', spec: { replicas: 7 } });
    expect(await put({ ...scale, spec: { replicas: 8 } })).toMatchObject({ status: 409 });
    expect((await put({ spec: { replicas: -1 } })).json).toMatchObject({ code: 422, message: 'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0' });
    expect(await put({ kind: 'Deployment', spec: {} })).toMatchObject({ status: 400 });
    expect((await cluster.http('/apis/apps/v1/namespaces/default/deployments/nobody/scale')).status).toBe(404);
    expect((await cluster.http('/apis/apps/v1/namespaces/default/daemonsets/nobody/scale')).json).toMatchObject({ message: expect.stringContaining('could not find the requested resource') });
    expect((await cluster.http(path, { method: 'DELETE' })).headers.get('allow')).toBe('GET, PUT, PATCH');
  });

  it('conflicts with another applier over what scale set', async () => {
    const manifest = (replicas: number): string => JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'applied' }, spec: { replicas, selector: { matchLabels: { app: 'a' } }, template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } } } });
    const apply = (replicas: number, ...args: string[]): ReturnType<typeof cluster.kubectl> => cluster.kubectl(['apply', '--server-side', ...args, '-f', '-'], { input: manifest(replicas) });
    expect((await apply(2)).stdout).toContain('serverside-applied');
    await kubectl('scale', 'deploy/applied', '--replicas=5');
    expect((await apply(2)).stderr).toMatch(/conflict with "kubectl\S*" with subresource "scale" using apps\/v1: \.spec\.replicas/);
    expect((await apply(2, '--force-conflicts')).stdout).toContain('serverside-applied');
    const diff = await cluster.kubectl(['diff', '--server-side', '-f', '-'], { input: manifest(9) });
    expect(diff.stdout).toMatch(/-\s+replicas: 2\n\+\s+replicas: 9/);
    expect((await cluster.kubectl(['apply', '--dry-run=server', '-f', '-'], { input: manifest(9) })).stdout).toContain('(server dry run)');
    expect((await json<Workload>('deploy', 'applied')).spec.replicas).toBe(2);
  });

  it('is deleted in the foreground, orphaning, or at once', async () => {
    await kubectl('delete', 'deploy', 'web', '--cascade=orphan', '--wait=false');
    expect((await json<Workload>('deploy', 'web')).metadata).toMatchObject({ finalizers: ['orphan'], deletionTimestamp: expect.any(String) });
    await kubectl('patch', 'deploy', 'web', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]');
    await kubectl('delete', 'deploy', 'applied', '--cascade=foreground', '--wait=false');
    expect((await json<Workload>('deploy', 'applied')).metadata.finalizers).toEqual(['foregroundDeletion']);
    await kubectl('patch', 'deploy', 'applied', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    expect((await kubectl('get', 'deploy', '-o', 'name')).trim()).toBe('');
    const query = async (text: string): Promise<unknown> => (await cluster.http(`/apis/apps/v1/namespaces/default/deployments/x?${text}`, { method: 'DELETE' })).json['message'];
    expect(await query('propagationPolicy=Orphan&orphanDependents=true')).toContain('orphanDependents and deletionPropagation cannot be both set');
    expect(await query('propagationPolicy=Sometimes')).toContain('Orphan, Background, Foreground');
    expect(await query('gracePeriodSeconds=soon')).toContain('gracePeriodSeconds');
  });
});

describe('a pod', () => {
  it('is made by run, waits for a node, is bound to one by its subresource, once', async () => {
    await kubectl('run', 'made', '--image=busybox', '--labels=app=made', '--', 'sleep', '1d');
    expect(await kubectl('get', 'pods', '-o', 'wide')).toMatch(/made +0\/1 +Pending +0 +\S+ +<none> +<none> +<none> +<none>/);
    const bind = (node: string): ReturnType<typeof cluster.http> =>
      post('/api/v1/namespaces/default/pods/made/binding', { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'made' }, target: { apiVersion: 'v1', kind: 'Node', name: node } });
    expect(await bind('')).toMatchObject({ status: 422, json: { message: expect.stringContaining('target.name: Required value') } });
    expect(await bind('node-1')).toMatchObject({ status: 201, json: { kind: 'Status', status: 'Success' } });
    expect(await bind('node-2')).toMatchObject({ status: 409, json: { message: expect.stringContaining('already assigned to node "node-1"') } });
    expect((await json<Workload>('pod', 'made')).spec.nodeName).toBe('node-1');
    expect(await kubectl('get', 'pods', '--field-selector=spec.nodeName=node-1', '-o', 'name')).toBe('pod/made\n');
  });

  it('shows what its agent tells of it, also to those that wait and watch', async () => {
    const waiting = kubectl('wait', 'pod/made', '--for=condition=Ready', '--timeout=60s');
    await agent.running(await json<Pod>('pod', 'made'));
    expect(await waiting).toContain('condition met');
    expect(await kubectl('get', 'pod', 'made', '-o', 'wide')).toMatch(/made +1\/1 +Running +0 +\S+ +10\.0\.0\.1 +node-1/);
    expect(await kubectl('describe', 'pod', 'made')).toMatch(/Status: +Running[^]*Ready +True/);
  });

  it('ends in its own time: it stays, marked, until its agent says that it has gone', async () => {
    await create(podObject('slow', { nodeName: 'node-1', terminationGracePeriodSeconds: 40 }));
    const { metadata } = await json<Workload>('pod', 'slow');
    const deleting = kubectl('delete', 'pod', 'slow', '--grace-period=7');
    await eventually(async () => expect((await json<Workload>('pod', 'slow')).metadata).toMatchObject({ deletionGracePeriodSeconds: 7, deletionTimestamp: expect.any(String) }));
    expect(await kubectl('get', 'pod', 'slow')).toMatch(/slow +0\/1 +Terminating/);
    await agent.bus.request(messages.nodeWrite, { node: 'node-1' }, { operation: 'podGone', namespace: 'default', name: 'slow', uid: metadata.uid });
    expect(await deleting).toBe('pod "slow" deleted\n');
    await create(podObject('slow', { nodeName: 'node-1' }));
    const answer = await cluster.http('/api/v1/namespaces/default/pods/slow', { method: 'DELETE' });
    expect(answer).toMatchObject({ status: 200, json: { kind: 'Pod', metadata: { deletionGracePeriodSeconds: 30 } } });
    expect(await kubectl('delete', 'pod', 'slow', '--force', '--grace-period=0')).toContain('force deleted');
    expect(await refused('get', 'pod', 'slow')).toContain('pods "slow" not found');
  });

  it('is among those that a selection deletes', async () => {
    for (const name of ['many-1', 'many-2']) await create(podObject(name, {}, { set: 'many' }));
    const answer = await cluster.http('/api/v1/namespaces/default/pods?labelSelector=set%3Dmany&gracePeriodSeconds=0', { method: 'DELETE' });
    expect((answer.json['items'] as Workload[]).map((pod) => pod.metadata.name)).toEqual(['many-1', 'many-2']);
    expect((await kubectl('get', 'pods', '-l', 'set=many', '-o', 'name')).trim()).toBe('');
  });
});

describe('eviction and nodes', () => {
  it('drain evicts, waits for the end, and keeps to disruption budgets', async () => {
    await create(podObject('guarded', { nodeName: 'node-1' }, { app: 'guarded' }));
    await agent.running(await json<Pod>('pod', 'guarded'));
    await kubectl('create', 'pdb', 'keep', '--selector=app=guarded', '--min-available=1');
    const budget = await json<{ metadata: { generation: number } }>('pdb', 'keep');
    const evict = (body: object = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'guarded' } }): ReturnType<typeof cluster.http> => post('/api/v1/namespaces/default/pods/guarded/eviction', body);
    // Its controller has not counted yet: come again.
    const early = await evict();
    expect(early).toMatchObject({ status: 429, json: { reason: 'TooManyRequests', message: "Cannot evict pod as it would violate the pod's disruption budget.", details: { retryAfterSeconds: 10 } } });
    expect(early.headers.get('retry-after')).toBe('10');
    const counted = async (disruptionsAllowed: number): Promise<void> => {
      const status = { observedGeneration: budget.metadata.generation, disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
      await kubectl('patch', 'pdb', 'keep', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
    };
    await counted(0);
    const against = await evict();
    expect(against).toMatchObject({ status: 429, json: { details: { causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget keep needs 1 healthy pods and has 1 currently' }] } } });
    expect(against.headers.get('retry-after')).toBeNull();
    expect(await evict({ metadata: { name: 'another' } })).toMatchObject({ status: 400, json: { message: 'name in URL does not match name in Eviction object' } });
    await kubectl('delete', 'pod', 'made', '--force', '--grace-period=0');
    // It tries again after five seconds.
    expect(await refused('drain', 'node-1', '--force', '--timeout=4900ms')).toMatch(/Cannot evict pod as it would violate the pod's disruption budget/);
    await counted(1);
    const draining = kubectl('drain', 'node-1', '--force', '--timeout=60s');
    await eventually(async () => expect((await json<Workload>('pod', 'guarded')).status?.conditions).toContainEqual(expect.objectContaining({ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' })));
    const { metadata } = await json<Workload>('pod', 'guarded');
    await agent.bus.request(messages.nodeWrite, { node: 'node-1' }, { operation: 'podGone', namespace: 'default', name: 'guarded', uid: metadata.uid });
    expect(await draining).toMatch(/pod\/guarded evicted\nnode\/node-1 drained/);
  });

  it('cordon, uncordon and taint are fields of the node', async () => {
    await kubectl('cordon', 'node-1');
    expect((await json<Workload>('node', 'node-1')).spec.unschedulable).toBe(true);
    await kubectl('uncordon', 'node-1');
    await kubectl('taint', 'node', 'node-1', 'a=b:NoSchedule');
    expect((await json<Workload>('node', 'node-1')).spec.taints).toEqual([{ key: 'a', value: 'b', effect: 'NoSchedule' }]);
    await kubectl('taint', 'node', 'node-1', 'a-');
    await kubectl('patch', 'node', 'node-1', '--subresource=status', '--type=merge', '-p', '{"status":{"capacity":{"cpu":"2","memory":"1Gi"},"allocatable":{"cpu":"1","memory":"1Gi"}}}');
    expect(await kubectl('describe', 'node', 'node-1')).toMatch(/Allocatable:\n +cpu: +1/);
  });
});

describe('what nodes and pods use', () => {
  it('is asked of the agents; who does not answer is left out', async () => {
    await create(podObject('busy', { nodeName: 'node-1' }, { app: 'busy' }));
    await create(podObject('silent', { nodeName: 'node-2' }, { app: 'silent' }));
    const { metadata } = await json<Workload>('pod', 'busy');
    agent.usage.push({ namespace: 'default', name: 'busy', uid: metadata.uid, containers: [{ name: 'main', cpuNanoCores: 150_000_000, memoryBytes: 64 << 20 }, { name: 'side', cpuNanoCores: 50_000_000, memoryBytes: 32 << 20 }] });
    // Of a pod of this name that is no more.
    agent.usage.push({ namespace: 'default', name: 'silent', uid: 'another', containers: [{ name: 'main', cpuNanoCores: 1, memoryBytes: 1 }] });
    expect(await kubectl('top', 'pods')).toMatch(/^NAME +CPU\(cores\) +MEMORY\(bytes\) +\nbusy +200m +96Mi +\n$/);
    expect(await kubectl('top', 'pod', 'busy', '--containers')).toMatch(/busy +main +150m +64Mi +\nbusy +side +50m +32Mi/);
    expect(await kubectl('top', 'pods', '-A', '-l', 'app=busy')).toMatch(/default +busy +200m/);
    await kubectl('patch', 'node', 'node-1', '--subresource=status', '--type=merge', '-p', '{"status":{"allocatable":{"cpu":"1","memory":"1Gi"}}}');
    expect(await kubectl('top', 'nodes')).toMatch(/node-1 +250m +25% +512Mi +50% +\nnode-2 +<unknown>/);
    expect(await kubectl('top', 'node', 'node-1')).toMatch(/node-1 +250m/);
    expect(await refused('top', 'pod', 'nobody')).toContain('pods "default/nobody" not found');
    expect(await refused('top', 'pod', 'silent')).toContain('podmetrics.metrics.k8s.io "default/silent" not found');
    expect(await refused('top', 'node', 'node-2')).toContain('nodemetrics.metrics.k8s.io "node-2" not found');
    const { json: list } = await cluster.http('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods');
    expect(list).toMatchObject({ kind: 'PodMetricsList', items: [{ metadata: { name: 'busy', labels: { app: 'busy' } }, window: '10s', containers: [{ name: 'main', usage: { cpu: '150000000n', memory: '65536Ki' } }, {}] }] });
  });
});

describe('what the server says of itself', () => {
  it('names every kind with its short names, and the parts of pods and workloads', async () => {
    const resources = await kubectl('api-resources', '--no-headers');
    for (const line of [/^pods +po +v1 +true +Pod$/m, /^deployments +deploy +apps\/v1 +true +Deployment$/m, /^cronjobs +cj +batch\/v1 +true +CronJob$/m, /^poddisruptionbudgets +pdb +policy\/v1 /m, /^leases +coordination\.k8s\.io\/v1 /m, /^pods +metrics\.k8s\.io\/v1beta1 +true +PodMetrics$/m]) expect(resources).toMatch(line);
    const { json: core } = await cluster.http('/api/v1');
    const parts = Object.fromEntries((core['resources'] as { name: string }[]).map((one) => [one.name, one]));
    expect(parts['pods/eviction']).toEqual({ name: 'pods/eviction', singularName: '', namespaced: true, group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] });
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(['pods/attach', 'pods/binding', 'pods/exec', 'pods/log', 'pods/portforward', 'pods/status', 'nodes/status']));
    const { json: apps } = await cluster.http('/apis', { headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' } });
    expect(JSON.stringify(apps)).toContain('{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get","patch","update"]}');
    expect(await kubectl('explain', 'deploy.spec.strategy.rollingUpdate')).toMatch(/maxSurge/);
    for (const what of [['create', 'pods/exec'], ['create', 'pods/eviction'], ['patch', 'deployments/scale'], ['get', 'pods/log']]) expect((await kubectl('auth', 'can-i', ...what)).trim()).toBe('yes');
  });

  it('events about a pod are found by it', async () => {
    const { metadata } = await json<Workload>('pod', 'busy');
    await agent.bus.request(messages.nodeWrite, { node: 'node-1' }, {
      operation: 'event',
      event: { apiVersion: 'v1', kind: 'Event', metadata: { name: 'busy.1', namespace: 'default' }, involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'busy', uid: metadata.uid }, reason: 'Pulled', message: 'Image is there', type: 'Normal', count: 1, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z', source: { component: 'kubelet', host: 'node-1' } },
    });
    expect(await kubectl('events', '--for', 'pod/busy')).toMatch(/Normal +Pulled +Pod\/busy +Image is there/);
    expect(await kubectl('describe', 'pod', 'busy')).toMatch(/Pulled +\S+ +kubelet +Image is there/);
  });
});
