import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { defaultRuntime, runtimeLabels, type AnyTask, type DaemonSet, type KubeObject, type Runtime, type Service } from '@roundsman/api';
import { openCluster, resources, type ClusterResource } from '@roundsman/cluster';
import { service as controllers } from '@roundsman/controllers';
import { runServices } from '@roundsman/service';
import { openStore } from '@roundsman/store';
import { eventually } from '@roundsman/testkit';
import { pino } from 'pino';
import { buildKubernetes, RealKubernetes } from '../conformance/real-kubernetes.ts';
import { KubectlCluster } from '../kubectl-cluster.ts';
import { HandKeptNodes } from './hand-kept-nodes.ts';

// `pnpm real-kubernetes`: the controllers of task runtimes, unchanged, make them in a real Kubernetes (API server, controllers and scheduler; nodes and pods are kept by hand).
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const ends: (() => unknown)[] = [];
const warnings: string[] = [];

const kubernetes = await RealKubernetes.start(buildKubernetes(say));
ends.push(() => kubernetes.stop());
try {
  const own = await KubectlCluster.start();
  ends.push(() => own.stop());
  const cluster = openCluster({ kubeconfig: kubernetes.kubeconfig, userAgent: 'roundsman-test' });
  ends.push(() => cluster.close());
  const kubectl = (...args: string[]): Promise<unknown> => promisify(execFile)('kubectl', ['--kubeconfig', kubernetes.kubeconfig, ...args]);
  const nodes = new HandKeptNodes(cluster, ['one', 'two'], (resource, namespace, name, status) => kubectl('patch', resource, name, ...(namespace === undefined ? [] : ['-n', namespace]), '--subresource=status', '--type=strategic', '-p', JSON.stringify({ status })));
  await nodes.start();
  ends.push(() => nodes.stop());
  const store = openStore(own.databaseUrl);
  ends.push(() => store.close());

  const env = { ROUNDSMAN_CONTROLLERS_KUBECONFIG: kubernetes.kubeconfig, ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME: 'daemonset', ROUNDSMAN_CONTROLLERS_RUNTIME_SERVICE_TYPE: 'NodePort', ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '600000', ROUNDSMAN_CONTROLLERS_RUNTIME_WAIT_MS: '5000' };
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  const startControllers = () => runServices([{ definition: controllers }], { env, log, databaseUrl: own.databaseUrl, connect: (identity) => own.nats.connect(identity) });
  let running = await startControllers();
  ends.push(() => running.stop());

  const runtime = async (namespace: string, name: string): Promise<Runtime> => {
    const found = (await store.get('runtimes.roundsman.io', namespace, name)) as Runtime | undefined;
    assert(found !== undefined, `Runtime ${namespace}/${name} is not there`);
    return found;
  };
  const within = { within: 40_000, every: 200 };
  const made: readonly ClusterResource[] = [resources.daemonSets, resources.deployments, resources.services, resources.secrets, resources.ingresses];
  const versions = async (): Promise<string[]> =>
    (await Promise.all(made.map((one) => cluster.list(one, { labelSelector: runtimeLabels.runtime })))).flat().map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} ${kind === 'DaemonSet' || kind === 'Deployment' ? metadata.generation : metadata.resourceVersion}`).sort();
  const check = async (what: string, look: () => Promise<void>): Promise<void> => {
    const began = performance.now();
    await look();
    say(`ok  ${what} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  };

  await check('the default runtime is made, and its pods, Services and node ports are seen', () =>
    eventually(async () => {
      const { status } = await runtime(defaultRuntime.namespace, defaultRuntime.name);
      assert.deepEqual(status?.runners.map(({ node, ready }) => `${node} ${ready}`).sort(), ['one true', 'two true'], JSON.stringify(status?.conditions));
      const [service] = status.paths.services;
      assert.match(service?.clusterIP ?? '', /^10\.96\./);
      assert((service?.nodePort ?? 0) >= 30000);
      assert.deepEqual(status.paths.nodes?.map(({ name, addresses }) => `${name} ${addresses[0]?.address}`), ['one 10.9.0.1', 'two 10.9.0.2']);
    }, within));
  await check('nothing is owned by what this API does not know', async () => {
    for (const one of made) for (const { metadata } of await cluster.list(one, { labelSelector: runtimeLabels.runtime })) assert((metadata.ownerReferences ?? []).every(({ apiVersion }) => apiVersion === 'apps/v1'));
  });
  await check('what is as it should be is left alone', async () => {
    const before = await versions();
    await running.stop();
    running = await startControllers();
    // All is looked at when a term begins; that nothing is written cannot be waited for.
    await eventually(() => assert(running.health.report().ready), within);
    await sleep(5_000);
    assert.deepEqual(await versions(), before);
    assert.deepEqual(warnings.filter((line) => line.includes('otherwise than it was applied')), []);
  });
  await check('what somebody deletes or changes is put right', async () => {
    const [service] = await cluster.list<Service>(resources.services, { labelSelector: runtimeLabels.runtime });
    const daemonSet = async (): Promise<DaemonSet> => (await cluster.list<DaemonSet>(resources.daemonSets, { labelSelector: runtimeLabels.runtime }))[0] as DaemonSet;
    const image = (await daemonSet()).spec.template.spec.containers[0]?.image;
    await cluster.delete(resources.services, service?.metadata.namespace, service?.metadata.name ?? '');
    await kubectl('-n', defaultRuntime.namespace, 'set', 'image', `daemonset/${(await daemonSet()).metadata.name}`, 'probe-runner=another:1');
    await eventually(async () => {
      const again = await cluster.get(resources.services, service?.metadata.namespace, service?.metadata.name ?? '');
      assert(again !== undefined && again.metadata.uid !== service?.metadata.uid);
      assert.equal((await daemonSet()).spec.template.spec.containers[0]?.image, image);
    }, within);
  });

  const task = (name: string, kind: string, spec: object): string => JSON.stringify({ apiVersion: 'roundsman.io/v1', kind, metadata: { name, namespace: 'default' }, spec: { schedule: { schedule: '60 10', roundNumber: 1 }, ...spec } });
  await check('a task has a Deployment of its own, which goes with it', async () => {
    await own.must(['apply', '-f', '-'], { input: task('web', 'AppHttpHealthy', { agentSpec: { kind: 'Deployment', deploymentReplicas: 2 }, target: { host: 'http://example.com' } }) });
    const mine = (): Promise<KubeObject[]> => cluster.list<KubeObject>(resources.deployments, { namespace: 'default', labelSelector: runtimeLabels.taskUid });
    const stored = (): Promise<AnyTask | undefined> => store.get('apphttphealthies.roundsman.io', 'default', 'web') as Promise<AnyTask | undefined>;
    await eventually(async () => {
      const [{ metadata } = { metadata: { name: '' } }] = await mine();
      assert.equal((await runtime('default', metadata.name)).status?.ready, 2);
      assert.equal((await stored())?.status?.resource?.runtimeName, metadata.name);
    }, within);
    await own.must(['delete', 'apphttphealthy', 'web', '--wait=false']);
    await eventually(async () => {
      assert.equal(await stored(), undefined);
      for (const one of made) assert.deepEqual((await cluster.list(one, { namespace: 'default', labelSelector: runtimeLabels.runtime })).map(({ kind, metadata }) => `${kind} ${metadata.name}`), []);
    }, within);
  });
  const ownRuntimeOf = async (kind: string, name: string): Promise<Runtime> => {
    const found = (await store.list('runtimes.roundsman.io')).items.find(({ spec }) => (spec as Runtime['spec']).task?.kind === kind && (spec as Runtime['spec']).task?.name === name);
    assert(found !== undefined, `${kind} ${name} has no runtime yet`);
    return found as Runtime;
  };
  /** Pods that are kept by hand say nothing to NATS: all but that. */
  const unmet = ({ status }: Runtime): string[] => (status?.conditions ?? []).filter(({ status: held, reason }) => held !== 'True' && reason !== 'RunnersSilent').map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  await check('what is not there is told in the words of the cluster, and comes', async () => {
    await own.must(['apply', '-f', '-'], { input: task('heavy', 'NetReach', { agentSpec: { kind: 'Deployment', resources: { requests: { cpu: '100' } } } }) });
    await eventually(async () => {
      const { status } = await ownRuntimeOf('NetReach', 'heavy');
      assert(status?.settledAt !== undefined);
      assert.match(status.runners[0]?.reason ?? '', /^Unschedulable: 0\/2 nodes are available: 2 Insufficient cpu/);
    }, within);
    await own.must(['apply', '-f', '-'], { input: task('ways', 'NetReach', { agentSpec: {}, target: { ipv4: true, ingress: true, loadBalancer: true } }) });
    await eventually(async () => {
      const runtimeOfTask = await ownRuntimeOf('NetReach', 'ways');
      assert.equal(runtimeOfTask.status?.ready, 2);
      assert.match(unmet(runtimeOfTask).join('\n'), /ServicesReady.*\n*IngressReady NoIngressClass/);
    }, within);
    const { workload = '' } = (await ownRuntimeOf('NetReach', 'ways')).spec;
    await cluster.apply({ apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', metadata: { name: 'shared', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } }, spec: { controller: 'example.com/ingress' } });
    const address = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } });
    for (const what of [`service/${workload}-v4`, `ingress/${workload}`]) await kubectl('patch', what, '-n', 'default', '--subresource=status', '--type=merge', '-p', address);
    await eventually(async () => {
      const runtimeOfTask = await ownRuntimeOf('NetReach', 'ways');
      assert.deepEqual(unmet(runtimeOfTask), []);
      assert.deepEqual(runtimeOfTask.status?.paths.services[0]?.loadBalancer, [{ ip: '192.0.2.7' }]);
      assert.deepEqual(runtimeOfTask.status?.paths.ingress?.addresses, [{ ip: '192.0.2.7' }]);
    }, within);
  });
  await check('a NetDNS finds the DNS Service of that cluster', async () => {
    await own.must(['apply', '-f', '-'], { input: task('names', 'NetDNS', { target: { targetDns: {} }, request: { domain: 'kubernetes.default.svc.cluster.local' } }) });
    const stored = async (): Promise<AnyTask> => (await store.get('netdnses.roundsman.io', 'default', 'names')) as AnyTask;
    const found = async (): Promise<string | undefined> => (await stored()).status?.conditions?.find(({ type }) => type === 'TargetsFound')?.reason;
    await eventually(async () => assert.equal(await found(), 'ServiceNotFound'), within);
    await cluster.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } }, spec: { clusterIP: '10.96.0.10', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] } });
    await eventually(async () => {
      assert.equal(await found(), 'ServersFound');
      assert.deepEqual((await stored()).status?.dnsServers, [{ service: 'kube-system/kube-dns', address: '10.96.0.10', port: 53 }]);
    }, within);
  });
  await check('the API server may be restarted', async () => {
    await kubernetes.kill('kube-apiserver');
    await eventually(() => assert.equal(running.health.report().ready, false), within);
    await kubernetes.again('kube-apiserver');
    await kubectl('-n', defaultRuntime.namespace, 'delete', 'service', '-l', runtimeLabels.runtime);
    await eventually(async () => {
      assert.equal((await cluster.list(resources.services, { namespace: defaultRuntime.namespace, labelSelector: runtimeLabels.runtime })).length, 1);
      assert.deepEqual(running.health.report(), { ...running.health.report(), ready: true });
    }, within);
  });
  say('The controllers of runtimes work on a real Kubernetes.');
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  for (const line of warnings.slice(-15)) say(line);
  process.exitCode = 1;
} finally {
  for (const end of ends.toReversed()) await end();
}
