import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject, TaskStatus } from '@roundsman/api';
import { serverCertificate } from '@roundsman/gateway';
import { whenDocker } from '@roundsman/testkit';
import { countersAt, EchoServers } from './echo-servers.ts';
import { bodyName, counterOf, mesh, requestsEach, scenarios, secretName, type Scenario } from './kdoctor-scenarios.ts';
import { arrivedIn, expectSuccess, RuntimeRig, type Kind } from './rig.ts';

interface AgentReport {
  readonly nodeName: string;
  readonly roundResult: string;
  readonly [task: `task${string}`]: { readonly roundTaskDetail: { readonly requestTargetMetrics: { readonly requestCounts: number; readonly successCounts: number } }[] };
}
interface KdoctorReport {
  readonly report: { readonly latestRoundReport: AgentReport[] };
  readonly status: { readonly totalRoundNumber: number; readonly roundFinishedNumber: number; readonly status: string };
}

const plurals = { AppHttpHealthy: 'apphttphealthies', Netdns: 'netdnses', NetReach: 'netreaches' } as const;
const manifest = ({ id, kind, spec }: Scenario, more: object = {}) => ({ apiVersion: 'kdoctor.io/v1beta1', kind, metadata: { name: id }, spec: { ...spec, ...more } });
const ownKind = ({ kind }: Scenario): Kind => (kind === 'Netdns' ? 'NetDNS' : kind);

whenDocker(describe)('the scenarios of kdoctor, by its own manifests', () => {
  const nodes = ['one', 'two'];
  let rig: RuntimeRig;
  let echo: EchoServers;
  beforeAll(async () => {
    rig = await RuntimeRig.start(nodes);
    echo = await EchoServers.start(rig);
    const folder = join(rig.cluster.folder, 'client');
    const client = await serverCertificate({ tlsFolder: folder }, ['client']);
    await rig.cluster.apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName }, stringData: { 'ca.crt': await echo.authority(echo.pods[0]!), 'tls.crt': client?.cert, 'tls.key': readFileSync(join(folder, 'tls.key'), 'utf8') } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: bodyName }, data: { test1: 'test1', test2: 'test2' } },
    );
  }, 240_000);
  afterAll(() => rig?.stop());

  const kdoctorTask = async ({ id, kind }: Scenario): Promise<TaskStatus> => ((await rig.ask<KubeObject & { status?: TaskStatus }>(`kdoctor.io/v1beta1/${plurals[kind]}/${id}`))?.status ?? {});
  const kdoctorReport = async ({ id, kind }: Scenario): Promise<KdoctorReport> => {
    const found = await rig.ask<KdoctorReport>(`system.kdoctor.io/v1beta1/namespaces/default/kdoctorreports/${kind.toLowerCase()}-${id}`);
    if (found === undefined) throw new Error(`no report of ${id}`);
    return found;
  };
  /** Requests of all runners to all targets, as kdoctor's report has them. */
  const requestsOf = ({ report }: KdoctorReport): number =>
    report.latestRoundReport.reduce((sum, agent) => {
      const [task] = Object.entries(agent).flatMap(([key, value]) => (key.startsWith('task') ? [value as AgentReport['taskX']] : []));
      return sum + (task?.roundTaskDetail ?? []).reduce((all, { requestTargetMetrics: { requestCounts } }) => all + requestCounts, 0);
    }, 0);

  it('on the default runtime end as they do there, and servers counted every request that is reported, exactly', async () => {
    const all = scenarios.map((make) => make({ service: echo.address, pod: echo.pods[0]! }));
    await rig.cluster.apply(...all.map((one) => manifest(one)));
    for (const one of all) await rig.finished(ownKind(one), one.id, 150_000);

    const counts = await echo.counted(all.map(counterOf));
    for (const one of all) {
      const [task, reported, report] = [await kdoctorTask(one), await kdoctorReport(one), await rig.report(ownKind(one), one.id)];
      const { perTarget = [] } = report;
      const sent = perTarget.reduce((sum, target) => sum + target.sent, 0);
      expect([one.id, reported.report.latestRoundReport.map(({ nodeName }) => nodeName).sort(), requestsOf(reported)]).toEqual([one.id, nodes, sent]);
      expect(reported.status).toEqual({ totalRoundNumber: 1, roundFinishedNumber: 1, roundNumber: 1, status: 'Finished' });
      if (one.counted) expect([one.id, counts[counterOf(one)], report.errors]).toEqual([one.id, arrivedIn([report], counts[counterOf(one)] ?? 0), report.errors]);
      expect([one.id, task.lastRoundStatus, sent + report.totals.unsent]).toEqual([one.id, report.state, requestsEach * perTarget.length]);
      if (one.ends === 'succeed') expectSuccess(one.id, report);
      else expect([one.id, report.state]).toEqual([one.id, 'fail']);
    }
    // Every way of NetReach was tested, by both runners.
    const meshed = await rig.report('NetReach', 'b00001');
    const { perTarget = [], notTested } = meshed;
    expect(notTested).toEqual([]);
    expect([...new Set(perTarget.map(({ layer }) => layer))].sort()).toEqual(['clusterIP', 'endpoint', 'ingress', 'loadBalancer', 'nodePort']);
    expect((await rig.ask<{ spec: { target: object } }>('kdoctor.io/v1beta1/netreaches/b00001'))?.spec.target).toMatchObject(mesh);
    // Runners count for each other.
    const runners = (await rig.list<{ status: { addresses: { address: string }[]; ports: Record<string, number> } }>('roundsman.io/v1/runners')).map(({ status }) => `http://${status.addresses[0]!.address}:${status.ports['http']}`);
    const { 'default.b00001.1': reached = 0 } = await countersAt(runners, ['default.b00001.1']);
    expect([reached, meshed.errors]).toEqual([arrivedIn([meshed], reached), meshed.errors]);
  }, 200_000);

  const heavy = (id: string, kind: Scenario['kind'], agentSpec: object): { one: Scenario; more: object } => {
    const make = { AppHttpHealthy: 'a00001', Netdns: 'd00002', NetReach: 'b00001' }[kind];
    const base = scenarios.map((scenario) => scenario({ service: echo.address, pod: echo.pods[0]! })).find((one) => one.id === make)!;
    const text = JSON.stringify(base.spec).replaceAll(make, id);
    return { one: { ...base, id, spec: JSON.parse(text) as Scenario['spec'] }, more: { agentSpec: { annotation: { 'test.kdoctor/annotation': id }, terminationGracePeriodMinutes: 0, ...agentSpec } } };
  };
  const kinds = ['NetReach', 'AppHttpHealthy', 'Netdns'] as const;
  const daemons = { kind: 'DaemonSet' };
  const replicas = { kind: 'Deployment', deploymentReplicas: 2 };

  it.each([
    { first: 1, workload: daemons },
    { first: 4, workload: replicas },
  ])('with a $workload.kind of their own have it made, succeed with exact counts, and leave nothing of it behind', async ({ first, workload }) => {
    const all = kinds.map((kind, index) => heavy(`e0000${index + first}`, kind, workload));
    await rig.cluster.apply(...all.map(({ one, more }) => manifest(one, more)));
    // All of it goes as soon as the round is done, of one maybe before another is looked at: what counts is what was ever seen.
    const seen = new Set<string>();
    const workloads = new Map<string, KubeObject & { spec: { template: KubeObject } }>();
    await rig.until(async () => {
      for (const made of await rig.made()) if (!made.startsWith('Pod ')) seen.add(made);
      for (const made of await rig.list<KubeObject & { spec: { template: KubeObject } }>(`apps/v1/namespaces/default/${workload.kind.toLowerCase()}s?labelSelector=roundsman.io/runtime`)) workloads.set(made.metadata.name, made);
      for (const { one } of all) {
        const own = [workload.kind, ...(one.kind === 'NetReach' ? ['Ingress'] : []), 'Runtime', 'Secret', 'Service'].sort();
        const name = (await rig.status(ownKind(one), one.id)).resource?.runtimeName ?? '?';
        expect([one.id, [...seen].filter((made) => made.includes(` ${name}`)).map((made) => made.split(' ')[0]).sort()]).toEqual([one.id, own]);
        const made = workloads.get(name);
        for (const object of [made, made?.spec.template]) expect(object?.metadata.annotations).toMatchObject({ 'test.kdoctor/annotation': one.id });
      }
    }, 60_000);
    for (const { one } of all) await rig.finished(ownKind(one), one.id, 120_000);
    const counts = await echo.counted(all.map(({ one }) => counterOf(one)));
    for (const { one } of all) {
      const { resource, lastRoundStatus } = await rig.status(ownKind(one), one.id);
      const report = await rig.report(ownKind(one), one.id);
      const { perTarget = [] } = report;
      expect({ id: one.id, type: resource?.runtimeType, runners: new Set(perTarget.map(({ runner }) => runner)).size, missing: report.missing }).toEqual({ id: one.id, type: workload.kind, runners: 2, missing: [] });
      if (one.counted) expect([one.id, counts[counterOf(one)], report.errors]).toEqual([one.id, arrivedIn([report], counts[counterOf(one)] ?? 0), report.errors]);
      expectSuccess(one.id, report);
      expect([one.id, lastRoundStatus]).toEqual([one.id, report.state]);
    }
    await rig.until(async () => expect(await rig.made()).toEqual([]), 60_000);
    // Their reports stay.
    for (const { one } of all) expect((await rig.report(ownKind(one), one.id)).round).toBe(1);
  }, 240_000);

  it('deleted as soon as their runtime is there take all of it with them', async () => {
    const all = [...kinds.map((kind, index) => heavy(`e0000${index + 7}`, kind, { ...daemons, terminationGracePeriodMinutes: 5 })), ...kinds.map((kind, index) => heavy(`e000${index + 10}`, kind, { ...replicas, terminationGracePeriodMinutes: 5 }))];
    await rig.cluster.apply(...all.map(({ one, more }) => manifest(one, more)));
    await rig.until(async () => expect((await rig.made()).filter((name) => name.startsWith('Runtime'))).toHaveLength(all.length), 30_000);
    const kept = await rig.runtime('roundsman-system', 'default');
    expect(kept).toBeDefined();
    await rig.cluster.must(['delete', ...all.map(({ one }) => `${plurals[one.kind]}.kdoctor.io/${one.id}`), '--wait=false']);
    await rig.until(async () => expect(await rig.made()).toEqual([]), 60_000);
    for (const { one } of all) await rig.until(async () => expect(await rig.task(ownKind(one), one.id)).toBeUndefined());
    // The default runtime is nobody's to remove.
    await rig.until(async () => expect(await rig.runtime('roundsman-system', 'default')).toMatchObject({ metadata: { uid: kept?.metadata.uid }, status: { phase: 'Ready' } }));
    expect(rig.cluster.dead()).toEqual([]);
  });
});
