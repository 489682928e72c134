import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messages, serviceIdentity, type Bus } from '@roundsman/bus';
import { stringify } from 'yaml';
import { KubectlCluster } from './kubectl-cluster.ts';

const runtimeOf = (kind: string): object => ({
  metadata: { name: 'default', namespace: 'roundsman-system' },
  spec: { kind, workload: 'probe-runner', families: kind === 'Process' ? [] : ['v4'], ingress: true },
  status: {
    phase: 'Degraded', desired: 3, ready: 2, conditions: [],
    runners: [{ runner: 'probe-runner-x', node: 'node-3', ready: false, reason: 'the image is not there' }],
    paths: { services: [{ family: 'v4', name: 'probe-runner-v4', port: 80, clusterIP: '10.96.0.77', loadBalancer: [{ ip: '10.97.0.5' }] }], ingress: { name: 'probe-runner', host: 'probe-runner.local', path: '/', tls: false, addresses: [{ ip: '10.97.0.6' }] } },
  },
});
const task = (kind: string, spec: object, name = 'x', apiVersion = 'roundsman.io/v1'): string => stringify({ apiVersion, kind, metadata: { name }, spec });

let cluster: KubectlCluster;
let controllers: Bus;
const write = (operation: 'create' | 'update' | 'updateStatus', resource: string, object: object, namespace?: string): Promise<unknown> => {
  const { name } = (object as { metadata: { name: string } }).metadata;
  return controllers.request(messages.write, {}, { operation, resource, name, ...(namespace === undefined ? {} : { namespace }), object: object as Record<string, unknown>, user: 'system:roundsman:controllers' });
};
const putRuntime = (kind: string, operation: 'create' | 'update'): Promise<unknown> => write(operation, 'runtimes.roundsman.io', runtimeOf(kind), 'roundsman-system');

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  controllers = await cluster.nats.connect(serviceIdentity('controllers').name);
  await write('create', 'nodes', { metadata: { name: 'node-1' }, status: { allocatable: { cpu: '2', memory: '4Gi' }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } });
});
afterAll(async () => {
  await controllers?.close();
  await cluster?.stop();
});

/** What kubectl says when it does not take it. */
async function refused(manifest: string, verb = 'create'): Promise<string> {
  const { code, stderr } = await cluster.kubectl([verb, '-f', '-'], { input: manifest });
  expect(code).toBe(1);
  return stderr;
}

it('without workloads: our own tasks are refused with the way out, those of kdoctor taken with a warning', async () => {
  await putRuntime('Process', 'create');
  const message = await refused(task('NetReach', { agentSpec: {}, target: { clusterIP: true } }));
  expect(message).toContain('The NetReach "x" is invalid');
  expect(message).toContain('* spec.target.clusterIP: Forbidden: needs runners with a Service: the runners of this cluster are processes on its nodes. Run it where Docker is, or give it a Kubernetes API');
  expect(message).toContain('* spec.agentSpec: Forbidden: needs a workload for the task');
  const { code, stderr } = await cluster.kubectl(['create', '-f', '-'], { input: task('NetReach', { agentSpec: {} }, 'old', 'kdoctor.io/v1beta1') });
  expect(code).toBe(0);
  for (const field of ['spec.target.clusterIP', 'spec.target.nodePort', 'spec.agentSpec']) expect(stderr).toContain(`Warning: ${field}: not tested: needs`);
  await cluster.must(['delete', 'netreaches.kdoctor.io', 'old']);
});

describe('with workloads', () => {
  beforeAll(() => putRuntime('DaemonSet', 'update'));

  it.each<[string, string, object, RegExp]>([
    ['no replicas', 'NetReach', { agentSpec: { kind: 'Deployment', deploymentReplicas: 0 } }, /spec\.agentSpec\.deploymentReplicas: Invalid value: 0: must be greater than or equal to 1/],
    ['resources that no node has', 'NetReach', { agentSpec: { resources: { requests: { memory: '1Ti' } } } }, /spec\.agentSpec\.resources\.requests\[memory\]: Invalid value: "1Ti": no node has so much, the largest one has 4Gi/],
    ['a family that the cluster does not have', 'NetReach', { target: { ipv6: true } }, /spec\.target\.ipv6: Forbidden: this cluster has no IPv6 addresses, only IPv4/],
    ['an affinity that says nothing', 'NetReach', { agentSpec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Like' }] }] } } } } }, /nodeSelectorTerms\[0\]\.matchExpressions\[0\]\.operator: Invalid value: "Like"/],
    ['a variable of ours', 'NetReach', { agentSpec: { env: [{ name: 'ROUNDSMAN_NODE', value: 'x' }] } }, /spec\.agentSpec\.env\[0\]\.name: Forbidden: TMPDIR and variables that begin with ROUNDSMAN_ or POD_/],
    ['a variable twice', 'NetReach', { agentSpec: { env: [{ name: 'A' }, { name: 'A' }] } }, /spec\.agentSpec\.env\[1\]\.name: Duplicate value: "A"/],
    ['a member that agentSpec does not have', 'NetReach', { agentSpec: { replicas: 2 } }, /unknown field "spec\.agentSpec\.replicas"/],
    ['a DNS of the cluster without an address', 'NetDNS', { target: { targetDns: { serviceName: 'headless', serviceNamespace: 'default' } } }, /Service default\/headless has no cluster address \(it is headless\)/],
  ])('%s: refused', async (_what, kind, spec, message) => {
    if (kind === 'NetDNS') await cluster.must(['create', 'service', 'clusterip', 'headless', '--clusterip=None']);
    expect(await refused(task(kind, spec))).toMatch(message);
  });

  it('the examples are taken', async () => {
    const said = await cluster.must(['create', '--dry-run=server', '-f', fileURLToPath(new URL('../../deploy/examples', import.meta.url))]);
    expect(said.trim().split('\n').length).toBeGreaterThanOrEqual(5);
  });

  it('an Ingress is tested where one is served, and not after its class is gone', async () => {
    await cluster.must(['create', '-f', '-', '--dry-run=server'], { input: task('NetReach', { target: { ingress: true } }) });
    await cluster.must(['delete', 'ingressclass', '--all']);
    expect(await refused(task('NetReach', { target: { ingress: true } }))).toContain('spec.target.ingress: Forbidden: there is no IngressClass: nothing in this cluster serves Ingresses');
  });

  it('agentSpec is decided once, but for how long its runtime is kept', async () => {
    const manifest = (agentSpec?: object): string => task('AppHttpHealthy', { ...(agentSpec && { agentSpec }), target: { host: 'http://example.com' } }, 'own');
    await cluster.must(['apply', '-f', '-'], { input: manifest({ kind: 'Deployment', env: [{ name: 'A', value: 'b' }] }) });
    expect(JSON.parse(await cluster.must(['get', 'ahh', 'own', '-o', 'jsonpath={.spec.agentSpec}']))).toEqual({ kind: 'Deployment', deploymentReplicas: 1, env: [{ name: 'A', value: 'b' }], terminationGracePeriodMinutes: 60 });
    expect(await cluster.must(['patch', 'ahh', 'own', '--type=merge', '-p', '{"spec":{"agentSpec":{"terminationGracePeriodMinutes":0}}}'])).toContain('patched');
    const once = 'spec.agentSpec: Forbidden: the runtime of a task is made once: only terminationGracePeriodMinutes may be changed. Delete the task and create it again';
    expect(await refused(manifest({ kind: 'Deployment', deploymentReplicas: 2 }), 'apply')).toContain(once);
    expect(await refused(manifest(), 'replace')).toContain(once);
  });

  it('a manifest of kdoctor is read back as it was written, and applied again it is no change', async () => {
    const agentSpec = { kind: 'Deployment', deploymentReplicas: 2, hostNetwork: false, annotation: { 'k8s.v1.cni.cncf.io/networks': 'second' }, env: [{ name: 'A', value: 'b' }], resources: { limits: { cpu: '1', memory: '1Gi' } }, terminationGracePeriodMinutes: 1 };
    const manifest = task('NetReach', { agentSpec, schedule: { schedule: '1 5', roundTimeoutMinute: 2, roundNumber: 1 } }, 'kdoctor', 'kdoctor.io/v1beta1');
    await cluster.must(['apply', '-f', '-'], { input: manifest });
    expect(await cluster.must(['apply', '-f', '-'], { input: manifest })).toContain('unchanged');
    const { spec } = JSON.parse(await cluster.must(['get', 'netreaches.kdoctor.io', 'kdoctor', '-o', 'json'])) as { spec: Record<string, unknown> };
    // No target: every way that the cluster has.
    expect(spec).toMatchObject({ agentSpec, target: { ipv4: true, ipv6: false, endpoint: true, clusterIP: true, nodePort: true, loadBalancer: true, ingress: true, multusInterface: false } });
  });

  it('runtimes are shown and explained, and nobody writes them by hand', async () => {
    const [header = '', row = ''] = (await cluster.must(['get', 'rt', '-n', 'roundsman-system', '-o', 'wide'])).split('\n').map((line) => line.split(/\s{2,}/).map((cell) => cell.trim()).filter((cell) => cell !== '').join('|'));
    expect(header).toBe('NAME|KIND|READY|PHASE|TASK|AGE|PROBLEM|WORKLOAD|CLUSTER-IP|EXTERNAL-IP|INGRESS');
    expect(row.replace(/\|\d+[ms][^|]*\|/, '|AGE|')).toBe('default|DaemonSet|2/3|Degraded|<all>|AGE|the image is not there|probe-runner|10.96.0.77|10.97.0.5|10.97.0.6');
    expect(await refused(stringify({ apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name: 'mine' }, spec: { kind: 'DaemonSet', families: ['v4'], ingress: false } }))).toContain('runtimes are written by Roundsman itself');
    const explain = (path: string): Promise<string> => cluster.must(['explain', path]);
    expect(await explain('runtime.status.paths.ingress')).toMatch(/Host that its rule is for/);
    const agentSpec = await explain('netreach.spec.agentSpec');
    for (const member of ['affinity', 'annotation', 'deploymentReplicas', 'env', 'hostNetwork', 'kind', 'resources', 'terminationGracePeriodMinutes']) expect(agentSpec).toMatch(new RegExp(`^ {2}${member}\\t`, 'm'));
    expect(await explain('netreach.spec.agentSpec.env.valueFrom.secretKeyRef')).toMatch(/Name of the Secret/);
    expect(await explain('netdns.spec.agentSpec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution')).toMatch(/nodeSelectorTerms/);
    expect(await cluster.must(['explain', 'netreaches.spec.agentSpec.resources', '--api-version=kdoctor.io/v1beta1'])).toMatch(/limits/);
  });
});
