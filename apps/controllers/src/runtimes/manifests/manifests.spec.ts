import { describe, expect, it } from '@jest/globals';
import { runnerPodPorts, tokenHashOf, type AgentSpec } from '@roundsman/api';
import * as fc from 'fast-check';
import { runtimeOf, settingsOf, taskOf } from '../testing/objects.ts';
import { serviceTypeOf } from '../lifetime/own-runtime.ts';
import type { RuntimeFacts } from './facts.ts';
import { ingressOf } from './ingress.ts';
import { chooseHostPorts, hostPortSlots, portsOf, takenHostPorts } from './ports.ts';
import { secretOf, tokenOf } from './secret.ts';
import { servicesOf } from './services.ts';
import { workloadOf } from './workload.ts';

type Container = { env: { name: string; value?: string }[]; ports: { name: string; containerPort: number; hostPort?: number; protocol: string }[]; resources: unknown };
type Template = { metadata: { labels: Record<string, string>; annotations: Record<string, string> }; spec: { containers: Container[]; [member: string]: unknown } };

function facts(agentSpec: Partial<AgentSpec>, more: { target?: object; settings?: Record<string, string>; hostPort?: number; token?: string; natsCa?: string } = {}): RuntimeFacts {
  const settings = settingsOf(more.settings);
  const task = taskOf(agentSpec, more.target === undefined ? {} : { target: more.target });
  const runtime = runtimeOf(task, settings, more.hostPort === undefined ? {} : { hostPort: more.hostPort });
  return { runtime, agentSpec: (task.spec as unknown as { agentSpec: AgentSpec }).agentSpec, serviceType: serviceTypeOf(task), ports: portsOf(runtime), token: more.token ?? 'token', natsCa: more.natsCa, installation: 'this', settings };
}
const templateOf = (given: RuntimeFacts): Template => (workloadOf(given, undefined)['spec'] as { template: Template }).template;
const containerOf = (given: RuntimeFacts): Container => templateOf(given).spec.containers[0]!;
const envOf = (given: RuntimeFacts): Record<string, string | undefined> => Object.fromEntries(containerOf(given).env.map(({ name, value }) => [name, value]));

describe('the workload of a runtime', () => {
  it('is a DaemonSet on every node of Linux, or a Deployment of as many pods as asked for, under a name that only its task has', () => {
    const daemon = workloadOf(facts({}), { kind: 'NetReach' });
    expect(daemon).toMatchObject({ kind: 'DaemonSet', metadata: { name: 'netreach-mesh-uidmesh', namespace: 'shop', labels: { 'roundsman.io/runtime': 'netreach-mesh-uidmesh', 'roundsman.io/installation': 'this', 'roundsman.io/task-uid': 'uid-mesh' }, ownerReferences: [{ kind: 'NetReach' }] } });
    expect(daemon['spec']).toMatchObject({ selector: { matchLabels: { 'roundsman.io/runtime': 'netreach-mesh-uidmesh' } }, template: { spec: { tolerations: [{ operator: 'Exists' }], nodeSelector: { 'kubernetes.io/os': 'linux' } } } });
    expect(daemon['spec']).not.toHaveProperty('replicas');
    const deployment = workloadOf(facts({ kind: 'Deployment', deploymentReplicas: 3 }), undefined);
    expect(deployment).toMatchObject({ kind: 'Deployment', spec: { replicas: 3 } });
    expect(templateOf(facts({ kind: 'Deployment' })).spec).not.toHaveProperty('tolerations');
  });

  it('takes over what agentSpec says: annotations on it, its pods and Services, affinity, environment, resources', () => {
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In' as const, values: ['a'] }] }] } } };
    const given = facts({ annotation: { 'k8s.v1.cni.cncf.io/networks': 'ring' }, affinity, env: [{ name: 'A', value: '1' }, { name: 'ROUNDSMAN_NATS_URL', value: 'nats://elsewhere' }], resources: { requests: { cpu: 0.5 as never }, limits: { cpu: '1000m' } } });
    expect(workloadOf(given, undefined).metadata.annotations).toEqual({ 'k8s.v1.cni.cncf.io/networks': 'ring' });
    expect(templateOf(given).metadata.annotations).toMatchObject({ 'k8s.v1.cni.cncf.io/networks': 'ring' });
    expect(servicesOf(given, undefined).map(({ metadata }) => metadata.annotations)).toEqual([{ 'k8s.v1.cni.cncf.io/networks': 'ring' }]);
    expect(templateOf(given).spec['affinity']).toEqual(affinity);
    expect(containerOf(given).resources).toEqual({ requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '1', memory: '1Gi' } });
    expect(envOf(given)).toMatchObject({ A: '1', ROUNDSMAN_NATS_URL: 'tls://nats.roundsman-system.svc:4222', ROUNDSMAN_RUNNER_NAME: '$(POD_NAME).$(POD_NAMESPACE)' });
  });

  it('has no limit of CPU unless one is asked for', () => {
    expect(containerOf(facts({})).resources).toEqual({ requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } });
  });

  it('has pods without rights that wait for their token, and new ones for a new token', () => {
    const { spec } = templateOf(facts({}));
    expect(spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, containers: [{ securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }], volumes: [{ emptyDir: {} }, { secret: { secretName: 'netreach-mesh-uidmesh' } }] });
    expect(templateOf(facts({ }, { token: 'another' })).metadata.annotations).not.toEqual(templateOf(facts({})).metadata.annotations);
    expect(JSON.stringify(workloadOf(facts({}, { token: 'very-secret' }), undefined))).not.toContain('very-secret');
    expect(envOf(facts({}))).not.toHaveProperty('ROUNDSMAN_NATS_CA_FILE');
    expect(envOf(facts({}, { natsCa: 'PEM', settings: { runnerDeny: '10.0.0.0/8', runnerCapacityQps: '20000' } }))).toMatchObject({ ROUNDSMAN_RUNNER_CAPACITY_QPS: '20000', ROUNDSMAN_NATS_CA_FILE: '/etc/roundsman/ca.crt', ROUNDSMAN_RUNNER_DENY: '10.0.0.0/8' });
  });

  it('in the networks of the nodes has ports of its own there, which the scheduler sees', () => {
    const pods = containerOf(facts({}));
    expect(pods.ports.map(({ containerPort, hostPort }) => [containerPort, hostPort])).toEqual([[8080, undefined], [8443, undefined], [8053, undefined], [8053, undefined], [8853, undefined], [8007, undefined]]);
    const given = facts({ hostNetwork: true }, { hostPort: 20_100 });
    expect(templateOf(given).spec).toMatchObject({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' });
    expect(containerOf(given).ports.map(({ name, containerPort, hostPort }) => [name, containerPort, hostPort])).toEqual([
      ['http', 20_100, 20_100], ['https', 20_101, 20_101], ['dns-udp', 20_102, 20_102], ['dns-tcp', 20_102, 20_102], ['dot', 20_103, 20_103], ['udp', 20_104, 20_104],
    ]);
    expect(envOf(given)).toMatchObject({ ROUNDSMAN_RUNNER_HTTP_PORT: '20100', ROUNDSMAN_RUNNER_UDP_PORT: '20104' });
  });
});

describe('ports in the networks of nodes', () => {
  it('are never given to two runtimes', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { maxLength: 60 }), (uids) => {
        const taken = new Set<number>();
        for (const uid of uids) taken.add(chooseHostPorts(uid, taken));
        const all = [...taken].flatMap((base) => Object.values(portsOf({ metadata: { annotations: { 'roundsman.io/host-ports': String(base) } } } as never)));
        expect(new Set(all).size).toBe(uids.length * Object.keys(runnerPodPorts).length);
        for (const port of all) expect(port >= 20_000 && port < 30_000).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('are taken as their runtimes say, and run out', () => {
    expect([...takenHostPorts([runtimeOf(taskOf({}), settingsOf(), { hostPort: 20_005 }), runtimeOf(taskOf({}))])]).toEqual([20_005]);
    const all = new Set(Array.from({ length: hostPortSlots.count }, (_, slot) => hostPortSlots.first + slot * hostPortSlots.size));
    expect(() => chooseHostPorts('u', all)).toThrow('hostNetwork');
    all.delete(20_500);
    expect(chooseHostPorts('u', all)).toBe(20_500);
  });
});

describe('the ways to a runtime', () => {
  it('are a Service per family, each of one alone, of the type that the widest way tested needs', () => {
    const types = [{}, { nodePort: true }, { nodePort: true, loadBalancer: true }].map((target) => servicesOf(facts({}, { target }), undefined)[0]!['spec'] as { type: string });
    expect(types.map(({ type }) => type)).toEqual(['ClusterIP', 'NodePort', 'LoadBalancer']);
    const both = servicesOf(facts({}, { settings: { runtimeFamilies: 'v4, v6' } }), { kind: 'DaemonSet' });
    expect(both.map(({ metadata, spec }) => [metadata.name, (spec as { ipFamilies: string[] }).ipFamilies, (spec as { ipFamilyPolicy: string }).ipFamilyPolicy])).toEqual([['netreach-mesh-uidmesh-v4', ['IPv4'], 'SingleStack'], ['netreach-mesh-uidmesh-v6', ['IPv6'], 'SingleStack']]);
  });

  it('lead to ports that its pods name', () => {
    const given = facts({ hostNetwork: true }, { hostPort: 20_000 });
    const named = new Map(containerOf(given).ports.map(({ name, protocol }) => [name, protocol]));
    const ports = (servicesOf(given, undefined)[0]!['spec'] as { ports: { targetPort: string; protocol: string; port: number }[] }).ports;
    for (const { targetPort, protocol } of ports) expect([targetPort, named.get(targetPort)]).toEqual([targetPort, protocol]);
    expect(new Set(ports.map(({ port, protocol }) => `${protocol}${port}`)).size).toBe(ports.length);
  });

  it('are an Ingress too, only where it is tested, of the class that is set, for a host of its own', () => {
    expect(ingressOf(facts({}), undefined)).toBeUndefined();
    const ingress = ingressOf(facts({}, { target: { ingress: true }, settings: { runtimeIngressClass: 'nginx', runtimeFamilies: 'v6,v4' } }), undefined);
    expect(ingress?.['spec']).toEqual({
      ingressClassName: 'nginx',
      rules: [{ host: 'netreach-mesh-uidmesh.shop.roundsman.internal', http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'netreach-mesh-uidmesh-v6', port: { number: 80 } } } }] } }],
    });
    expect(ingressOf(facts({}, { target: { ingress: true } }), undefined)?.['spec']).not.toHaveProperty('ingressClassName');
  });
});

describe('the Secret of a runtime', () => {
  it('holds the token and the authority of NATS', () => {
    const secret = secretOf(facts({}, { token: 'the-token', natsCa: 'PEM' }), undefined) as unknown as { data: Record<string, string> };
    expect(tokenOf(secret)).toBe('the-token');
    expect(Buffer.from(secret.data['ca.crt']!, 'base64').toString()).toBe('PEM');
    expect(tokenHashOf(tokenOf(secret)!)).toBe(tokenHashOf('the-token'));
    expect([tokenOf(undefined), tokenOf({ data: {} })]).toEqual([undefined, undefined]);
  });
});
