import { describe, expect, it } from '@jest/globals';
import { runtimeStatusSchema, type Pod, type Runtime, type RuntimeStatus } from '@roundsman/api';
import * as fc from 'fast-check';
import { daemonSetOf, ingressObject, iso, nodeOf, observed, podOf, runnerOf, runtimeOf, serviceOf, settingsOf, sliceOf, startMs, taskOf } from '../testing/objects.ts';
import { runtimeHappening } from './happenings.ts';
import type { Observation } from './observation.ts';
import { runtimeStatusOf } from './runtime-status.ts';

const daemon = runtimeOf(taskOf({}));
const name = daemon.spec.workload;
const nodes = ['a', 'b', 'c'].map((node, index) => nodeOf(node, { address: `10.0.0.${index + 1}` }));
const pods = (ready = true): Pod[] => ['a', 'b', 'c'].map((node) => podOf(`p-${node}`, node, { ready }));
const heard = ['a', 'b', 'c'].map((node) => runnerOf(`p-${node}.shop`, name, node, { pod: `shop/p-${node}` }));
const services = [serviceOf(`${name}-v4`, {})];
const slices = [sliceOf(`${name}-v4`, ['p-a', 'p-b', 'p-c'])];
const whole: Partial<Observation> = { nodes, pods: pods(), runners: heard, services, slices };

const statusOf = (runtime: Runtime, seen: Partial<Observation>): RuntimeStatus => runtimeStatusSchema.parse(runtimeStatusOf(observed(runtime, seen)));
const conditions = (status: RuntimeStatus): Record<string, string> => Object.fromEntries(status.conditions.map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));
const reasons = (status: RuntimeStatus): Record<string, string | undefined> => Object.fromEntries(status.runners.map(({ node, runner, reason }) => [node || runner, reason]));

describe('a runtime is ready', () => {
  it('when every runner is, is heard, and its Service leads to all of them', () => {
    const status = statusOf(daemon, whole);
    expect(status).toMatchObject({ phase: 'Ready', settledAt: iso(startMs + 1_000), desired: 3, ready: 3, paths: { services: [{ family: 'v4', name: `${name}-v4`, clusterIP: '10.96.0.9', port: 80 }] } });
    expect(status.runners[0]).toEqual({ runner: 'p-a.shop', node: 'a', pod: 'p-a', ready: true });
    expect(conditions(status)).toEqual({ WorkloadReady: 'True RunnersReady', ServicesReady: 'True ServicesReady', Ready: 'True Ready' });
  });

  it('not before', () => {
    const lacks: [Partial<Observation>, string][] = [
      [{ pods: pods().slice(0, 2) }, 'RunnersNotReady'],
      [{ pods: pods(false) }, 'RunnersNotReady'],
      [{ runners: heard.slice(0, 2) }, 'RunnersSilent'],
      [{ services: [] }, 'ServiceNotMade'],
      [{ slices: [sliceOf(`${name}-v4`, ['p-a', 'p-b'])] }, 'EndpointsMissing'],
      [{ services: [serviceOf(`${name}-v4`, { clusterIP: undefined })] }, 'NoClusterIP'],
    ];
    for (const [lack, reason] of lacks) {
      const status = statusOf(daemon, { ...whole, ...lack });
      expect([status.phase, status.settledAt, status.waitsUntil, conditions(status)['Ready']]).toEqual(['Creating', undefined, iso(startMs + settingsOf().runtimeWaitMs), `False ${reason}`]);
    }
  });

  it('and says where a runner that is not heard cannot reach NATS, perhaps', () => {
    const said = { ...nodes[0]!, metadata: { ...nodes[0]!.metadata, annotations: { 'roundsman.io/nats-endpoint': '192.0.2.7:4222' } } };
    const { conditions: [workload] } = statusOf(daemon, { ...whole, nodes: [said, ...nodes.slice(1)], runners: heard.slice(0, 2) });
    expect(workload?.message).toMatch(/not heard yet: p-c\.shop\. They report to NATS, which a firewall must let pods reach: tls:.* \(ROUNDSMAN_CONTROLLERS_RUNNER_NATS_URL\), behind it 192\.0\.2\.7:4222\.$/);
  });

  it('or has been waited for long enough: it settles once, with the reasons of what is missing', () => {
    const late = { nowMs: startMs + settingsOf().runtimeWaitMs };
    const status = statusOf(daemon, { ...whole, pods: pods().slice(0, 2), noPods: 'pods "p" is forbidden: exceeded quota: small', ...late });
    expect(status).toMatchObject({ phase: 'Degraded', settledAt: iso(late.nowMs), desired: 3, ready: 2 });
    expect(status.runners.find(({ node }) => node === 'c')).toEqual({ runner: `${name}-on-c.shop`, node: 'c', ready: false, reason: 'pods "p" is forbidden: exceeded quota: small' });
    const later = statusOf({ ...daemon, status }, { ...whole, nowMs: late.nowMs + 9_000 });
    expect(later).toMatchObject({ phase: 'Ready', settledAt: iso(late.nowMs) });
    expect(status.waitsUntil).toBeUndefined();
    expect(runtimeHappening(daemon, status)).toEqual(['Warning', 'RuntimeDegraded', expect.stringMatching(/2 of 3 runners are ready\. Node c: pods "p" is forbidden.* Rounds begin without what is missing\.$/)]);
    expect(runtimeHappening({ ...daemon, status }, later)).toEqual(['Normal', 'RuntimeReady', `DaemonSet ${name}: 3 of 3 runners are ready.`]);
    expect(runtimeHappening({ ...daemon, status: later }, later)).toBeUndefined();
  });

  it('waited for since its workload is there, which may be long after it was to be', () => {
    const made = daemonSetOf(name);
    const workload = { ...made, metadata: { ...made.metadata, creationTimestamp: iso(startMs + 600_000) } };
    const settled = (nowMs: number) => statusOf(daemon, { ...whole, workload, pods: [], nowMs }).settledAt;
    expect([settled(startMs + 601_000), settled(startMs + 600_000 + settingsOf().runtimeWaitMs)]).toEqual([undefined, expect.any(String)]);
  });

  it('but a node that is lost is not waited for', () => {
    const sinceMs = startMs - 3_000;
    const lost = [...nodes.slice(0, 2), nodeOf('c', { ready: 'Unknown', sinceMs })];
    const at = (nowMs: number, more: Partial<Observation> = {}, runtime: Runtime = daemon) => statusOf(runtime, { ...whole, nodes: lost, ...more, nowMs }).settledAt;
    expect([at(sinceMs + 9_999), at(sinceMs + 10_000)]).toEqual([undefined, iso(sinceMs + 10_000)]);
    // Whatever else lacks is waited for.
    expect(at(sinceMs + 20_000, { pods: [pods()[0]!, pods(false)[1]!, pods()[2]!] })).toBeUndefined();
    expect(at(sinceMs + 20_000, { slices: [sliceOf(`${name}-v4`, ['p-a'])] })).toBeUndefined();
    expect(at(sinceMs + 20_000, { nodes: lost.map(({ metadata }) => nodeOf(metadata.name, { ready: 'False', sinceMs })) })).toBeUndefined();
    // Its pod may go elsewhere.
    expect(at(sinceMs + 20_000, {}, runtimeOf(taskOf({ kind: 'Deployment', deploymentReplicas: 3 })))).toBeUndefined();
  });
});

describe('a runner that is not ready says why', () => {
  const waiting = (reason: string, message: string, lastState = {}): object => ({ phase: 'Pending', containerStatuses: [{ name: 'probe-runner', state: { waiting: { reason, message } }, lastState, ready: false, restartCount: 2 }] });
  const cases: [string, Pod, string | RegExp][] = [
    ['no room', podOf('p', undefined, { ready: false, status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available: 3 Insufficient cpu.' }] } }), 'Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.'],
    ['no image', podOf('p', 'a', { ready: false, status: waiting('ImagePullBackOff', 'Back-off pulling image "x"') }), 'ImagePullBackOff: Back-off pulling image "x"'],
    ['crashes', podOf('p', 'a', { ready: false, status: waiting('CrashLoopBackOff', 'back-off 10s', { terminated: { exitCode: 1, reason: 'Error', message: 'lines\nlisten EADDRINUSE 20000' } }) }), 'CrashLoopBackOff: the last one ended with exit code 1: listen EADDRINUSE 20000'],
    ['memory', podOf('p', 'a', { ready: false, status: waiting('CrashLoopBackOff', 'back-off 10s', { terminated: { exitCode: 137, reason: 'OOMKilled' } }) }), 'CrashLoopBackOff: the last one ended with exit code 137 (OOMKilled)'],
    ['terminating', podOf('p', 'a', { metadata: { deletionTimestamp: iso(startMs) } }), 'its pod is terminating'],
    ['evicted', podOf('p', 'a', { status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' } }), 'its pod has ended (Failed): Evicted: The node was low on resource: memory.'],
    ['lost node', podOf('p', 'lost'), 'node lost is not ready: The agent is silent.'],
    ['gone node', podOf('p', 'nowhere'), 'node nowhere is not there any more'],
    ['starting', podOf('p', 'a', { ready: false, status: { phase: 'Pending' } }), 'pod p is being started'],
    ['not ready', podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { running: {} }, lastState: {}, ready: false, restartCount: 0 }] } }), 'its container runs, but its readiness probe does not succeed'],
    [
      'killed, its last log line tells of what went well',
      podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 137, reason: 'Error', message: '{"level":50,"msg":"old"}\n{"level":30,"time":1,"msg":"round ended"}\n' } }, lastState: {}, ready: false, restartCount: 0 }] } }),
      'its container ended with exit code 137 (SIGKILL)',
    ],
    ...([[137, 'OOMKilled', 'OOMKilled'], [137, 'Error', 'SIGKILL'], [143, 'Error', 'SIGTERM']] as const).map(([exitCode, reason, named]): [string, Pod, string] => [
      `killed (${named}), its last log line tells of another error`,
      podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { terminated: { exitCode, reason, message: '{"level":50,"msg":"the echo target has no certificate"}' } }, lastState: {}, ready: false, restartCount: 0 }] } }),
      `its container ended with exit code ${exitCode} (${named})`,
    ]),
    [
      'aborted by itself, which it said why',
      podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 134, reason: 'Error', message: 'assertion failed: x' } }, lastState: {}, ready: false, restartCount: 0 }] } }),
      'its container ended with exit code 134 (SIGABRT): assertion failed: x',
    ],
    [
      'ended by an error that it logged',
      podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 1, reason: 'Error', message: '{"level":60,"err":{"message":"EACCES /data"},"msg":"cannot start"}' } }, lastState: {}, ready: false, restartCount: 0 }] } }),
      'its container ended with exit code 1: cannot start: EACCES /data',
    ],
    [
      'restarted long ago, and not ready for another reason',
      podOf('p', 'a', { ready: false, status: { containerStatuses: [{ name: 'c', state: { running: { startedAt: '2026-01-01T12:00:00Z' } }, lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', finishedAt: '2026-01-01T11:59:59Z' } }, ready: false, restartCount: 1 }] } }),
      'its container runs since 2026-01-01T12:00:00Z, but its readiness probe does not succeed. It was started again once; the one before ended at 2026-01-01T11:59:59Z with exit code 137 (ContainerStatusUnknown)',
    ],
  ];
  const some = [nodeOf('a'), nodeOf('lost', { ready: 'Unknown', message: 'The agent is silent.' })];

  it('and ready or not, when and how its container ended last', () => {
    const container = (state: object, lastState: object): object => ({ containerStatuses: [{ name: 'c', state, lastState, ready: true, restartCount: 1 }] });
    const ended = (exitCode: number, reason: string, finishedAt?: string | null) => ({ terminated: { exitCode, reason, ...(finishedAt === undefined ? {} : { finishedAt }) } });
    const endedOf = (status: object): unknown => statusOf(runtimeOf(taskOf({ kind: 'Deployment', deploymentReplicas: 1 })), { nodes, pods: [podOf('p', 'a', { status })] }).runners[0]?.ended;
    expect(endedOf(container({ running: {} }, ended(137, 'OOMKilled', iso(startMs))))).toEqual({ at: iso(startMs), reason: 'exit code 137 (OOMKilled)' });
    expect(endedOf(container(ended(139, 'Error', iso(startMs + 9_000)), ended(1, 'Error', iso(startMs))))).toEqual({ at: iso(startMs + 9_000), reason: 'exit code 139 (SIGSEGV)' });
    for (const nobodyKnows of [undefined, null]) expect(endedOf(container({ running: {} }, ended(255, 'ContainerStatusUnknown', nobodyKnows)))).toBeUndefined();
    expect(endedOf(container({ running: {} }, {}))).toBeUndefined();
  });

  it.each(cases)('%s', (_what, pod, reason) => {
    const deployment = runtimeOf(taskOf({ kind: 'Deployment', deploymentReplicas: 1 }));
    expect(statusOf(deployment, { nodes: some, pods: [pod] }).runners).toEqual([expect.objectContaining({ pod: 'p', ready: false, reason })]);
  });

  it('and where a pod that is not placed was to be', () => {
    const pod = podOf('p', undefined, { ready: false, spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }] } } } } });
    expect(Object.keys(reasons(statusOf(daemon, { ...whole, pods: [pods()[0]!, pod, pods()[2]!] })))).toEqual(['a', 'c', 'b']);
  });
});

describe('the runners of a runtime', () => {
  it('are one per node: of an old and a new pod the one that counts', () => {
    const old = podOf('p-old', 'a', { metadata: { deletionTimestamp: iso(startMs) } });
    const status = statusOf(daemon, { ...whole, pods: [old, ...pods()] });
    expect(status.runners.map(({ pod }) => pod)).toEqual(['p-a', 'p-b', 'p-c']);
    expect(statusOf(daemon, { ...whole, pods: [old, ...pods().slice(1)] }).runners.map(({ pod }) => pod)).toEqual(['p-b', 'p-c', 'p-old']);
  });

  it('are as many as a Deployment is to have, more only while they are ready', () => {
    const deployment = runtimeOf(taskOf({ kind: 'Deployment', deploymentReplicas: 2 }));
    const three = (ready: boolean[]): Pod[] => ready.map((is, index) => podOf(`p-${index}`, 'a', { ready: is }));
    expect(statusOf(deployment, { nodes, pods: three([true, false, true]) }).runners.map(({ pod }) => pod)).toEqual(['p-0', 'p-2']);
    expect(statusOf(deployment, { nodes, pods: three([true, true, true]) }).desired).toBe(3);
    expect(statusOf(deployment, { nodes, pods: three([true]) }).runners).toEqual([{ runner: `${deployment.spec.workload}-without-pod-1.shop`, node: '', ready: false, reason: 'it has no pod yet' }, expect.objectContaining({ pod: 'p-0' })]);
  });

  it('are those of the nodes that fit, and why there are none', () => {
    expect(conditions(statusOf(daemon, { ...whole, pods: [], fits: () => false }))['Ready']).toBe('False NoRunners');
    const refused = statusOf(daemon, { nodes, workload: undefined, problems: new Map([['workload', 'no']]) });
    expect(conditions(refused)['WorkloadReady']).toBe('False WorkloadNotMade');
    expect(reasons(refused)).toEqual({ a: 'no', b: 'no', c: 'no' });
  });

  it('are not those whose node has a process that stands for them', () => {
    const standard: Runtime = { ...daemon, metadata: { ...daemon.metadata, name: 'default' }, spec: { ...daemon.spec } };
    delete (standard.spec as { task?: unknown }).task;
    const status = statusOf(standard, { ...whole, pods: [...pods().slice(0, 2), podOf('p-c', 'c', { ready: false })], runners: [...heard, runnerOf('process-c', 'default', 'c')], slices: [sliceOf(`${name}-v4`, ['p-a', 'p-b'])] });
    expect(status.runners.map(({ pod }) => pod)).toEqual(['p-a', 'p-b']);
    expect(status).toMatchObject({ phase: 'Ready', desired: 3, ready: 3 });
  });

  it('have further interfaces where Multus says so', () => {
    const network = JSON.stringify([{ name: 'cbr0', default: true, interface: 'eth0', ips: ['10.1.0.5'] }, { name: 'shop/ring', interface: 'net1', ips: ['172.16.0.4', 'fd00::4'] }, 'nonsense', { interface: 'net2' }]);
    const pod = (annotations: Record<string, string>): Pod => podOf('p-a', 'a', { metadata: { annotations } });
    const of = (one: Pod) => statusOf(daemon, { ...whole, pods: [one] }).runners.find((runner) => runner.pod === 'p-a')?.interfaces;
    expect(of(pod({ 'k8s.v1.cni.cncf.io/networks-status': network }))).toEqual([{ name: 'net1', family: 'v4', address: '172.16.0.4' }, { name: 'net1', family: 'v6', address: 'fd00::4' }]);
    for (const text of ['not json', '{}', '', 'null']) expect(of(pod({ 'k8s.v1.cni.cncf.io/network-status': text }))).toBeUndefined();
  });
});

describe('the ways to a runtime', () => {
  const wide = runtimeOf(taskOf({}, { target: { loadBalancer: true, ingress: true } }));
  const balanced = (ingress?: object[]) => ({ ...whole, services: [serviceOf(`${name}-v4`, { type: 'LoadBalancer', ports: [{ name: 'http', port: 80, nodePort: 30_080 }] }, ingress)], ingress: ingressObject(name, undefined, [{ ip: '10.9.0.1' }]) });

  it('are told with all their addresses: nodes, load balancers by address or name, Ingress', () => {
    const { paths, phase } = statusOf(wide, balanced([{ ip: '10.8.0.1' }, { hostname: 'lb.example.com' }, {}]));
    expect(paths).toEqual({
      services: [{ family: 'v4', name: `${name}-v4`, clusterIP: '10.96.0.9', port: 80, nodePort: 30_080, loadBalancer: [{ ip: '10.8.0.1' }, { hostname: 'lb.example.com' }] }],
      nodes: ['a', 'b', 'c'].map((node, index) => ({ name: node, addresses: [{ family: 'v4', address: `10.0.0.${index + 1}` }] })),
      ingress: { name, host: `${name}.shop.roundsman.internal`, path: '/', tls: false, addresses: [{ ip: '10.9.0.1' }] },
    });
    expect(phase).toBe('Ready');
  });

  it('that have no address keep a task waiting, and say why', () => {
    expect(conditions(statusOf(wide, balanced()))).toMatchObject({ ServicesReady: 'False NoLoadBalancerAddress', Ready: 'False NoLoadBalancerAddress' });
    const without = (seen: Partial<Observation>): string | undefined => conditions(statusOf(wide, { ...balanced([{ ip: '10.8.0.1' }]), ...seen }))['Ready'];
    expect(without({ ingress: ingressObject(name, undefined) })).toBe('False NoIngressClass');
    expect(without({ ingress: ingressObject(name, 'nginx') })).toBe('False NoIngressClass');
    expect(without({ ingress: ingressObject(name, 'nginx'), ingressClasses: [{ metadata: { name: 'nginx' }, spec: {} } as never] })).toBe('False NoIngressAddress');
    expect(without({ ingress: undefined })).toBe('False IngressNotMade');
    // The address of before leads nowhere any more, and is not tested.
    const left = { ...balanced([{ ip: '10.8.0.1' }]), ingress: ingressObject(name, 'roundsman', [{ ip: '10.9.0.1' }]) };
    expect(conditions(statusOf(wide, left))['IngressReady']).toBe('False NoIngressClass');
    expect(statusOf(wide, left).paths.ingress?.addresses).toEqual([]);
  });

  it('keep nobody waiting for the default runtime, which most tasks reach by its runners alone', () => {
    const standard: Runtime = { ...wide, spec: { ...wide.spec } };
    delete (standard.spec as { task?: unknown }).task;
    expect(statusOf(standard, { ...balanced(), ingress: ingressObject(name, undefined) })).toMatchObject({ phase: 'Ready' });
    expect(conditions(statusOf(standard, { ...balanced(), slices: [] }))['Ready']).toBe('False EndpointsMissing');
  });
});

describe('a runtime of processes', () => {
  const processes = { ...daemon, spec: { kind: 'Process' as const, families: [], ingress: false } };
  it('is settled at once, and counts the processes that are heard', () => {
    expect(statusOf(processes, {})).toMatchObject({ phase: 'Degraded', settledAt: iso(startMs + 1_000), desired: 0 });
    expect(statusOf(processes, { runners: [runnerOf('r', 'default', 'a'), runnerOf('s', 'default', 'b', { ready: false })] })).toMatchObject({ phase: 'Degraded', desired: 2, ready: 1, runners: [], paths: { services: [] } });
    expect(statusOf(processes, { runners: [runnerOf('r', 'default', 'a')] })).toMatchObject({ phase: 'Ready' });
  });
});

describe('the status of a runtime', () => {
  const anything = fc.record({
    pods: fc.subarray([...pods(), ...pods(false), podOf('p-x', undefined, { ready: false }), podOf('p-gone', 'nowhere', { metadata: { deletionTimestamp: iso(startMs) } })]),
    nodes: fc.subarray(nodes),
    services: fc.subarray(services),
    slices: fc.subarray(slices),
    runners: fc.subarray(heard),
    workload: fc.constantFrom(undefined, daemonSetOf(name)),
    nowMs: fc.integer({ min: startMs, max: startMs + 120_000 }),
  });
  const before = fc.option(anything, { nil: undefined });

  it('is the same when the same is seen again, names no runner twice, and says of each whether it is ready or why not', () => {
    fc.assert(
      fc.property(anything, before, (seen, earlier) => {
        const runtime: Runtime = earlier === undefined ? daemon : { ...daemon, status: statusOf(daemon, earlier) };
        const status = statusOf(runtime, seen);
        expect(statusOf({ ...runtime, status }, seen)).toEqual(status);
        expect(new Set(status.runners.map(({ runner }) => runner)).size).toBe(status.runners.length);
        for (const { ready, reason } of status.runners) expect(ready).toBe(reason === undefined);
        if (runtime.status?.settledAt !== undefined) expect(status.settledAt).toBe(runtime.status.settledAt);
        for (const node of seen.nodes) expect(status.runners.some((runner) => runner.node === node.metadata.name)).toBe(true);
        expect(status.phase === 'Ready').toBe(status.settledAt !== undefined && conditions(status)['Ready']!.startsWith('True'));
      }),
    );
  });
});
