import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ApiError, viewOf } from '@roundsman/api';
import { create, refusal, request, World } from '../testing/world.ts';
import { admit } from './admit.ts';
import type { Admitted, WriteRequest } from './outcome.ts';

const http = (more: object = {}): object => ({ target: { host: 'http://example.com/' }, ...more });
const namespace = 'roundsman-system';
const condition = (status: string): object[] => [{ type: 'ContainersRunnable', status }];

/** Nodes of two sizes in the small cluster, with addresses of one family. */
class SmallCluster extends World {
  constructor({ families = ['v4'], pool = ['10.97.0.0/24'], containers = 'True' }: { families?: string[]; pool?: string[]; containers?: string } = {}) {
    super();
    this.node('node-1', { cpu: '2', memory: '8Gi' }, containers);
    this.node('node-2', { cpu: '4', memory: '4Gi' }, containers);
    const ranges = [...(families.includes('v4') ? ['10.96.0.0/16'] : []), ...(families.includes('v6') ? ['fd00:96::/112'] : [])];
    const network = { podCidrs: ranges, nodePrefixes: [24], serviceCidrs: ranges, loadBalancerCidrs: pool, nodePorts: { first: 30000, last: 32767 }, dnsAddresses: ['10.96.0.10'], backend: 'host-gw' };
    this.put('configmaps', { metadata: { name: 'cluster-network', namespace: 'kube-system' }, data: { 'network.json': JSON.stringify(network) } });
    this.put('services', { metadata: { name: 'kube-dns', namespace: 'kube-system' }, spec: { type: 'ClusterIP', clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'] }, status: { loadBalancer: {} } });
    this.put('ingressclasses.networking.k8s.io', { metadata: { name: 'roundsman' }, spec: { controller: 'roundsman.io/ingress' } });
    if (containers === 'True') this.runtime('default', { kind: 'DaemonSet', families });
    else this.runtime('default', { kind: 'Process', families: [] });
  }
  node(name: string, allocatable: object, containers = 'True'): void {
    const number = Number(name.split('-')[1]);
    this.put('nodes', { metadata: { name, labels: { size: String(number) } }, status: { allocatable, conditions: condition(containers), addresses: [{ type: 'InternalIP', address: `10.0.0.${number}` }] } });
  }
  runtime(name: string, spec: object, status?: object): void {
    this.put('runtimes.roundsman.io', { metadata: { name, namespace: name === 'default' ? namespace : 'default' }, spec: { ingress: true, ...spec }, ...(status && { status }) });
  }
  without(resource: string, name: string): this {
    for (const key of this.objects.keys()) if (key.startsWith(`${resource} `) && key.endsWith(`/${name}`)) this.objects.delete(key);
    return this;
  }
}

const causes = (attempt: () => unknown): { field?: string | undefined; message?: string | undefined }[] => (refusal(attempt).status.details?.causes ?? []).map(({ field, message }) => ({ field, message }));
const all = { endpoint: true, clusterIP: true, nodePort: true, loadBalancer: true, ingress: true, multusInterface: true };

describe('agentSpec', () => {
  const agentSpecOf = ({ object }: Admitted): unknown => (object.spec as { agentSpec: unknown }).agentSpec;
  it('has the defaults of kdoctor, and one runner where a Deployment says no number', () => {
    expect(agentSpecOf(create('AppHttpHealthy', http({ agentSpec: {} }), {}, new SmallCluster()))).toEqual({ kind: 'DaemonSet', terminationGracePeriodMinutes: 60 });
    expect(agentSpecOf(create('AppHttpHealthy', http({ agentSpec: { kind: 'Deployment', terminationGracePeriodMinutes: 0 } }), {}, new SmallCluster()))).toEqual({ kind: 'Deployment', deploymentReplicas: 1, terminationGracePeriodMinutes: 0 });
  });
  it('takes what pods take', () => {
    const agentSpec = {
      kind: 'Deployment', deploymentReplicas: 3, hostNetwork: true, annotation: { 'k8s.v1.cni.cncf.io/networks': 'second' },
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'In', values: ['1'] }] }] } } },
      env: [{ name: 'PROXY', value: 'http://proxy' }, { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
      resources: { requests: { cpu: 0.5, memory: '64Mi' }, limits: { memory: '256Mi' } },
    };
    const admitted = create('AppHttpHealthy', http({ agentSpec }), {}, new SmallCluster());
    expect(admitted.warnings).toEqual([]);
    expect(agentSpecOf(admitted)).toEqual({ ...agentSpec, resources: { requests: { cpu: '500m', memory: '64Mi' }, limits: { memory: '256Mi' } }, terminationGracePeriodMinutes: 60 });
  });
  it.each<[agentSpec: object, field: string, message: RegExp]>([
    [{ kind: 'Deployment', deploymentReplicas: 0 }, 'deploymentReplicas', /^Invalid value: 0: must be greater than or equal to 1/],
    [{ kind: 'StatefulSet' }, 'kind', /^Unsupported value: "StatefulSet": supported values: /],
    [{ terminationGracePeriodMinutes: -1 }, 'terminationGracePeriodMinutes', /^Invalid value: -1: must be greater than or equal to 0/],
    [{ annotation: { 'a b': 'c' } }, 'annotation', /^Invalid value: "a b": name part must consist of/],
    [{ annotation: { 'roundsman.io/runtime': 'mine' } }, 'annotation[roundsman.io/runtime]', /^Forbidden: annotations below roundsman.io are set by Roundsman itself/],
    [{ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } }, 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms', /^Required value/],
    [{ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {}, topologyKey: 'a b' }] } } }, 'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey', /^Invalid value: "a b"/],
    [{ env: [{ name: 'A', value: '1' }, { name: 'A', value: '2' }] }, 'env[1].name', /^Duplicate value: "A"/],
    [{ env: [{ name: 'ROUNDSMAN_NODE', value: 'other' }] }, 'env[0].name', /^Forbidden: TMPDIR and variables that begin with ROUNDSMAN_ or POD_ are set by Roundsman itself/],
    [{ env: [{ name: 'POD_NAME', value: 'other' }] }, 'env[0].name', /^Forbidden/],
    [{ env: [{ name: 'A', value: '1', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }, 'env[0].valueFrom', /may not be specified when `value` is not empty/],
    [{ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }, 'resources.requests', /must be less than or equal to cpu limit of 1/],
    [{ resources: { requests: { cpu: '5' } } }, 'resources.requests[cpu]', /^Invalid value: "5": no node has so much, the largest one has 4$/],
    [{ resources: { requests: { memory: '16Gi' } } }, 'resources.requests[memory]', /no node has so much, the largest one has 8Gi$/],
    [{ resources: { limits: { 'nvidia.com/gpu': 1 } } }, 'resources.limits[nvidia.com/gpu]', /the largest one has 0$/],
    [{ resources: { limits: { memory: '4Mi' } } }, 'resources.limits[memory]', /^Invalid value: "4Mi": must be at least 6Mi, with less no container starts/],
    // Each by itself is there, on different nodes.
    [{ resources: { requests: { cpu: '3', memory: '6Gi' } } }, 'resources', /no node has all of this$/],
  ])('%j is refused', (agentSpec, field, message) => {
    expect(causes(() => create('AppHttpHealthy', http({ agentSpec }), {}, new SmallCluster()))).toEqual([{ field: `spec.agentSpec.${field}`, message: expect.stringMatching(message) }]);
  });
  it('says of a resource that is none what Kubernetes says, and not that no node has it', () => {
    const told = causes(() => create('AppHttpHealthy', http({ agentSpec: { resources: { limits: { gpu: 1 } } } }), {}, new SmallCluster()));
    expect(told.map(({ message }) => message)).toEqual(['Invalid value: "gpu": must be a standard resource type or fully qualified', 'Invalid value: "gpu": must be a standard resource for containers']);
  });
  it('tells of a limit of memory below what a runner needs, and of one that a request raises', () => {
    const warnings = (resources: object): string[] => create('AppHttpHealthy', http({ agentSpec: { resources } }), {}, new SmallCluster()).warnings;
    expect(warnings({ limits: { memory: '40Mi' } })).toEqual([expect.stringMatching(/^spec\.agentSpec\.resources\.limits\[memory\]: 40Mi is little: .* 96Mi.* \(OOMKilled\)$/)]);
    expect(warnings({ limits: { memory: '96Mi' } })).toEqual([]);
    expect(warnings({ requests: { memory: '2Gi' } })).toEqual(['spec.agentSpec.resources.requests[memory]: more than the limit of 1Gi that holds where none is given: the limit is 2Gi, too']);
    expect(warnings({ requests: { memory: '1Gi' } })).toEqual([]);
  });
  it('takes a limit that no node has: only what is set aside must be there', () => {
    expect(create('AppHttpHealthy', http({ agentSpec: { resources: { limits: { memory: '16Gi' } } } }), {}, new SmallCluster()).warnings).toEqual([]);
  });
  it('finds no room on nodes that run no containers', () => {
    const world = new SmallCluster();
    world.node('node-3', { cpu: '64', memory: '64Gi' }, 'False');
    expect(causes(() => create('AppHttpHealthy', http({ agentSpec: { resources: { requests: { cpu: '8' } } } }), {}, world))).toEqual([{ field: 'spec.agentSpec.resources.requests[cpu]', message: expect.stringContaining('the largest one has 4') }]);
  });
  it('tells of replicas that a DaemonSet does not have', () => {
    expect(create('AppHttpHealthy', http({ agentSpec: { deploymentReplicas: 2 } }), {}, new SmallCluster()).warnings).toEqual([expect.stringContaining('spec.agentSpec.deploymentReplicas: not used')]);
  });
  it('is not judged by nodes that nobody knows', () => {
    expect(create('AppHttpHealthy', http({ agentSpec: { resources: { requests: { cpu: '500' } } } })).type).toBe('ADDED');
  });
  it('stays as it is once the task is there, but for the time that its runtime is kept', () => {
    const world = new SmallCluster();
    const resource = 'apphttphealthies.roundsman.io';
    const task = world.store({ resource, namespace: 'default', object: { metadata: { name: 'x' }, spec: http({ agentSpec: { kind: 'Deployment' } }) } });
    world.store({ resource, namespace: 'default', object: { metadata: { name: 'plain' }, spec: http() } });
    const update = (name: string, agentSpec: object | undefined): Admitted => admit(request({ operation: 'update', resource, namespace: 'default', name, object: { metadata: { name }, spec: http(agentSpec && { agentSpec }) } }), world);
    expect(update('x', { kind: 'Deployment', deploymentReplicas: 1, terminationGracePeriodMinutes: 5 }).object.metadata.generation).toBe(task.metadata.generation + 1);
    const refused = [{ field: 'spec.agentSpec', message: expect.stringContaining('the runtime of a task is made once: only terminationGracePeriodMinutes may be changed. Delete the task and create it again') }];
    for (const agentSpec of [undefined, {}, { kind: 'Deployment', deploymentReplicas: 2 }, { kind: 'Deployment', hostNetwork: true }]) expect(causes(() => update('x', agentSpec))).toEqual(refused);
    expect(causes(() => update('plain', {}))).toEqual(refused);
    expect(update('plain', undefined).type).toBeUndefined();
  });
});

it('any JSON in agentSpec is admitted or refused with an ApiError', () => {
  const map = fc.dictionary(fc.oneof(fc.constantFrom('cpu', 'memory', 'hugepages-2Mi', 'a.b/c', '__proto__'), fc.string()), fc.oneof(fc.constantFrom('1', '-1', '1e99', '5Gi', ''), fc.jsonValue()));
  const term = fc.record({ key: fc.string(), operator: fc.constantFrom('In', 'Gt', 'Exists'), values: fc.array(fc.string(), { maxLength: 2 }) }, { requiredKeys: [] });
  const affinity = fc.record({ nodeAffinity: fc.record({ requiredDuringSchedulingIgnoredDuringExecution: fc.record({ nodeSelectorTerms: fc.array(fc.record({ matchExpressions: fc.array(term, { maxLength: 2 }) }), { maxLength: 2 }) }) }) });
  const agentSpec = fc.record(
    {
      kind: fc.oneof(fc.constantFrom('DaemonSet', 'Deployment'), fc.jsonValue()),
      deploymentReplicas: fc.oneof(fc.integer(), fc.jsonValue()),
      annotation: fc.oneof(map, fc.jsonValue()),
      affinity: fc.oneof(affinity, fc.jsonValue()),
      env: fc.oneof(fc.array(fc.record({ name: fc.string(), value: fc.string(), valueFrom: fc.jsonValue() }, { requiredKeys: [] })), fc.jsonValue()),
      resources: fc.oneof(fc.record({ limits: map, requests: map }, { requiredKeys: [] }), fc.jsonValue()),
      terminationGracePeriodMinutes: fc.oneof(fc.integer(), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const world = new SmallCluster();
  fc.assert(
    fc.property(fc.oneof(agentSpec, fc.jsonValue()), (any) => {
      try {
        create('NetReach', { agentSpec: any, target: all }, {}, world);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    }),
    { numRuns: 1500 },
  );
});

describe('what a cluster has', () => {
  const cluster = (options?: ConstructorParameters<typeof SmallCluster>[0]): SmallCluster => new SmallCluster(options);
  it('is tested in every way, and in nothing else than was asked for', () => {
    expect(create('NetReach', { target: { ...all, multusInterface: false } }, {}, cluster()).warnings).toEqual([]);
    // Nothing is known: the task's conditions tell.
    expect(create('NetReach', { agentSpec: {}, target: { ...all, ipv6: true } }).warnings).toEqual([]);
  });
  it('tells of interfaces that its pods do not have', () => {
    const world = cluster();
    expect(create('NetReach', { target: all }, {}, world).warnings).toEqual([expect.stringMatching(/^spec\.target\.multusInterface: pods of this cluster have no interface besides their own \(there is no Multus\)/)]);
    const interfaces = [{ name: 'net1', family: 'v4', address: '10.9.0.1' }];
    world.runtime('default', { kind: 'DaemonSet', families: ['v4'] }, { desired: 1, ready: 1, runners: [{ runner: 'r1', node: 'n1', ready: true, interfaces }], paths: { services: [] }, conditions: [] });
    expect(create('NetReach', { target: all }, {}, world).warnings).toEqual([]);
  });
  it('takes nothing that needs workloads where runners are processes', () => {
    const fields = ['clusterIP', 'nodePort', 'loadBalancer', 'ingress', 'multusInterface'].map((member) => `spec.target.${member}`);
    const refused = causes(() => create('NetReach', { agentSpec: {}, target: all }, {}, cluster({ containers: 'False' })));
    expect(refused.map(({ field }) => field)).toEqual([...fields, 'spec.agentSpec']);
    expect(refused[0]?.message).toBe('Forbidden: needs runners with a Service: the runners of this cluster are processes on its nodes. Run it where Docker is, or give it a Kubernetes API (ROUNDSMAN_CONTROLLERS_KUBECONFIG)');
    // Before there is a runtime the nodes tell.
    expect(causes(() => create('AppHttpHealthy', http({ agentSpec: {} }), {}, cluster({ containers: 'False' }).without('runtimes.roundsman.io', 'default')))).toEqual([{ field: 'spec.agentSpec', message: expect.stringContaining('Run it where Docker is') }]);
    expect(create('AppHttpHealthy', http({ agentSpec: {} }), {}, cluster().without('runtimes.roundsman.io', 'default')).type).toBe('ADDED');
  });
  it.each<[string, ConstructorParameters<typeof SmallCluster>[0], object, string, RegExp]>([
    ['IPv6', {}, { ipv6: true }, 'spec.target.ipv6', /^Forbidden: this cluster has no IPv6 addresses, only IPv4: set it to false$/],
    ['IPv4', { families: ['v6'] }, { ipv6: true }, 'spec.target.ipv4', /^Forbidden: this cluster has no IPv4 addresses, only IPv6: set it to false$/],
    ['addresses for load balancers', { pool: [] }, { loadBalancer: true }, 'spec.target.loadBalancer', /^Forbidden: this cluster has no IPv4 addresses for load balancers \(ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS\)$/],
    ['such addresses in one family', { families: ['v4', 'v6'] }, { ipv6: true, loadBalancer: true }, 'spec.target.loadBalancer', /no IPv6 addresses for load balancers/],
  ])('is not asked for what it lacks: %s', (_what, options, target, field, message) => {
    expect(causes(() => create('NetReach', { target }, {}, cluster(options)))).toEqual([{ field, message: expect.stringMatching(message) }]);
    // As before the default runtime is there: by the addresses of the cluster.
    expect(causes(() => create('NetReach', { target }, {}, cluster(options).without('runtimes.roundsman.io', 'default')))).toEqual([{ field, message: expect.stringMatching(message) }]);
  });
  it('is not asked for an Ingress that nothing serves', () => {
    const world = cluster().without('ingressclasses.networking.k8s.io', 'roundsman');
    expect(causes(() => create('NetReach', { target: { ingress: true } }, {}, world))).toEqual([{ field: 'spec.target.ingress', message: 'Forbidden: there is no IngressClass: nothing in this cluster serves Ingresses' }]);
  });
  it('may have load balancers of somebody else', () => {
    const world = cluster({ pool: [] });
    world.put('services', { metadata: { name: 'web', namespace: 'shop' }, spec: {}, status: { loadBalancer: { ingress: [{ ip: '192.168.7.1' }] } } });
    expect(create('NetReach', { target: { loadBalancer: true } }, {}, world).type).toBe('ADDED');
  });
});

describe('the DNS of the cluster', () => {
  const dns = (targetDns: object, world: World = new SmallCluster(), more: object = { request: { domain: 'kube-dns.kube-system.svc.cluster.local' } }): Admitted => create('NetDNS', { target: { targetDns }, ...more }, {}, world);
  it('is found by name or by label, with runners of every kind', () => {
    for (const world of [new World(), new SmallCluster(), new SmallCluster({ containers: 'False' })]) {
      expect(dns({}, world).warnings).toEqual([]);
      expect(dns({ serviceName: 'kube-dns', serviceNamespace: 'kube-system' }, world).warnings).toEqual([]);
      expect(dns({ serviceName: 'kube-dns' }, world).warnings).toEqual([]);
    }
  });
  it('may come later, where it can be seen', () => {
    expect(dns({ serviceName: 'later', serviceNamespace: 'shop' }).warnings).toEqual(['spec.target.targetDns.serviceName: services "later" does not exist in namespace "shop" yet; rounds fail until it does']);
    expect(dns({ serviceName: 'later', serviceNamespace: 'shop' }, new World()).warnings).toEqual([]);
  });
  it('tells of the name of a Service that is not there', () => {
    const warning = 'spec.request.domain: services "kubernetes" does not exist in namespace "default" yet; the cluster\'s DNS answers NXDOMAIN until it does';
    expect(dns({}, new SmallCluster(), {}).warnings).toEqual([warning]);
    for (const more of [{ expect: { rcode: 'NXDOMAIN' } }, { request: { domain: 'kubernetes.default.svc.elsewhere' } }, { request: { domain: 'example.com' } }]) expect(dns({}, new SmallCluster(), more).warnings).toEqual([]);
    expect(dns({}, new World(), {}).warnings).toEqual([]);
  });
  it('must have an address to ask, in each family', () => {
    const world = new SmallCluster({ families: ['v4', 'v6'] });
    world.put('services', { metadata: { name: 'headless', namespace: 'shop' }, spec: { type: 'ClusterIP', clusterIP: 'None', clusterIPs: ['None'] } });
    expect(causes(() => dns({ serviceName: 'headless', serviceNamespace: 'shop' }, world))).toEqual([{ field: 'spec.target.targetDns.serviceName', message: 'Forbidden: Service shop/headless has no cluster address (it is headless)' }]);
    expect(causes(() => dns({ serviceName: 'kube-dns', testIPv6: true }, world))).toEqual([{ field: 'spec.target.targetDns.testIPv6', message: 'Forbidden: Service kube-system/kube-dns has no IPv6 address' }]);
    expect(causes(() => dns({ testIPv6: true }))).toEqual([{ field: 'spec.target.targetDns.testIPv6', message: 'Forbidden: this cluster has no IPv6 addresses' }]);
  });
});

describe('how many targets a runner has', () => {
  // 1000 requests per second is the capacity; the refusal tells how often the rate is counted.
  const targets = (spec: object, world: World): number => {
    const { message } = refusal(() => create('NetReach', { request: { qps: 1000, durationInSecond: 1 }, ...spec }, {}, world));
    return Number(/to each of (\d+) targets/.exec(message)?.[1] ?? 1);
  };
  const only = (target: object): object => ({ target: { endpoint: false, ...target } });
  it('counts every way, by what is known', () => {
    const world = new SmallCluster();
    expect(targets({}, world)).toBe(2);
    expect(targets(only({ nodePort: true }), world)).toBe(2);
    expect(targets(only({ clusterIP: true, nodePort: true, loadBalancer: true, ingress: true }), world)).toBe(5);
    const services = [{ family: 'v4', name: 's', port: 80, clusterIP: '10.96.0.7', nodePort: 30_000, loadBalancer: [{ ip: '10.97.0.1' }, { ip: '10.97.0.2' }] }];
    const nodes = ['n1', 'n2', 'n3'].map((name, index) => ({ name, addresses: [{ family: 'v4', address: `10.0.0.${index + 1}` }] }));
    const runners = [{ runner: 'r1', node: 'n1', ready: true, interfaces: [{ name: 'net1', family: 'v4', address: '10.9.0.1' }, { name: 'net1', family: 'v6', address: 'fd00:9::1' }] }];
    world.runtime('default', { kind: 'DaemonSet', families: ['v4'] }, { desired: 3, ready: 2, runners, paths: { services, nodes, ingress: { addresses: [{ ip: '10.97.0.9' }] } }, conditions: [] });
    // Three runners and an interface, the cluster address, three nodes, two addresses of the load balancer, the ingress.
    expect(targets({ target: all }, world)).toBe(4 + 1 + 3 + 2 + 1);
  });
  it('counts the runners that a runtime of its own will have', () => {
    const world = new SmallCluster();
    expect(targets({ agentSpec: {} }, world)).toBe(2);
    expect(targets({ agentSpec: { kind: 'Deployment', deploymentReplicas: 7 } }, world)).toBe(7);
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'size', operator: 'In', values: ['2', '3'] }] }] } } };
    world.node('node-3', { cpu: '1' });
    world.node('node-4', { cpu: '1' });
    expect(targets({ agentSpec: { affinity } }, world)).toBe(2);
    expect(targets({ agentSpec: {} }, world)).toBe(4);
  });
  it('is within the capacity of the runners of its own runtime, not of others', () => {
    const world = new SmallCluster();
    world.put('runners.roundsman.io', { metadata: { name: 'weak' }, status: { ready: true, runtime: 'another', capacityQps: 1, addresses: [] } });
    expect(create('AppHttpHealthy', http({ request: { qps: 1000 } }), {}, world).type).toBe('ADDED');
  });
});

describe('through kdoctor.io', () => {
  const view = 'kdoctor.io/v1beta1';
  const write = (spec: object, world: World): Admitted => {
    const write: Partial<WriteRequest> = { resource: 'netreaches.roundsman.io', namespace: 'default', view, object: { apiVersion: view, kind: 'NetReach', metadata: { name: 'x' }, spec } };
    return admit(request(write), world);
  };
  it('what cannot be tested is taken and told', () => {
    const { type, warnings } = write({ agentSpec: {} }, new SmallCluster({ containers: 'False' }));
    expect(type).toBe('ADDED');
    expect(warnings.map((text) => text.split(': ').slice(0, 2).join(': '))).toEqual(['spec.target.clusterIP: not tested', 'spec.target.nodePort: not tested', 'spec.agentSpec: not tested']);
    expect(write({ target: { loadBalancer: true } }, new SmallCluster({ pool: [] })).warnings).toEqual(['spec.target.loadBalancer: not tested: this cluster has no IPv4 addresses for load balancers (ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS)']);
  });
  it('a family that the cluster does not have is refused, as by kdoctor', () => {
    expect(causes(() => write({ target: { ipv6: true } }, new SmallCluster()))).toEqual([{ field: 'spec.target.ipv6', message: expect.stringContaining('no IPv6') }]);
  });
  it('agentSpec comes back as it was written, with its defaults, and is no change when it is written again', () => {
    const text = fc.stringMatching(/^[a-z]{1,8}$/);
    const amounts = fc.record({ cpu: fc.constantFrom('100m', '1'), memory: fc.constantFrom('64Mi', '1Gi') }, { requiredKeys: [] });
    const expression = fc.record({ key: text, operator: fc.constant('In'), values: fc.array(text, { minLength: 1, maxLength: 2 }) });
    const terms = fc.array(fc.record({ matchExpressions: fc.array(expression, { minLength: 1, maxLength: 2 }) }), { minLength: 1, maxLength: 2 });
    const any = fc.record(
      {
        kind: fc.constantFrom('DaemonSet', 'Deployment'),
        deploymentReplicas: fc.integer({ min: 1, max: 5 }),
        annotation: fc.dictionary(text, text, { maxKeys: 3 }),
        affinity: fc.record({ nodeAffinity: fc.record({ requiredDuringSchedulingIgnoredDuringExecution: fc.record({ nodeSelectorTerms: terms }) }) }),
        env: fc.uniqueArray(fc.record({ name: text, value: text }), { selector: ({ name }) => name, maxLength: 3 }),
        hostNetwork: fc.boolean(),
        resources: fc.record({ requests: amounts }, { requiredKeys: [] }),
        terminationGracePeriodMinutes: fc.integer({ min: 0, max: 600 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(any, (agentSpec) => {
        const world = new SmallCluster();
        const { object } = write({ agentSpec }, world);
        const stored = world.put('netreaches.roundsman.io', object as unknown as Parameters<World['put']>[1]);
        const shown = viewOf(view, 'netreaches.roundsman.io')!.toView(stored);
        const kind = agentSpec.kind ?? 'DaemonSet';
        expect((shown.spec as { agentSpec: unknown }).agentSpec).toEqual({ kind, ...(kind === 'Deployment' && { deploymentReplicas: 1 }), terminationGracePeriodMinutes: 60, ...agentSpec });
        expect(admit(request({ operation: 'update', resource: 'netreaches.roundsman.io', namespace: 'default', name: 'x', view, object: shown as unknown as Record<string, unknown> }), world).type).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });
  it('no target means every way that the cluster has', () => {
    const target = (world: World): unknown => (viewOf(view, 'netreaches.roundsman.io')!.toView(write({}, world).object).spec as { target: unknown }).target;
    const ways = { ipv4: true, ipv6: false, endpoint: true, multusInterface: false, clusterIP: true, nodePort: true, loadBalancer: false, ingress: false, enableLatencyMetric: false };
    expect(target(new World())).toEqual(ways);
    expect(target(new SmallCluster())).toEqual(ways);
    expect(target(new SmallCluster({ families: ['v6'] }))).toEqual({ ...ways, ipv4: false, ipv6: true });
    const world = new SmallCluster({ families: ['v4', 'v6'] });
    const paths = { services: [{ family: 'v4', name: 's', port: 80, loadBalancer: [{ ip: '10.97.0.1' }] }], ingress: { addresses: [{ ip: '10.97.0.9' }] } };
    world.runtime('default', { kind: 'DaemonSet', families: ['v4', 'v6'] }, { desired: 2, ready: 2, runners: [], paths, conditions: [] });
    expect(target(world)).toEqual({ ...ways, ipv6: true, loadBalancer: true, ingress: true });
  });
});
