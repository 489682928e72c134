import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultRuntime, type ReportBody } from '@roundsman/api';
import { whenDocker } from '@roundsman/testkit';
import { countersAt } from './echo-servers.ts';
import { arrivedIn, expectSuccess, RuntimeRig } from './rig.ts';

const layers = ['endpoint', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'] as const;
const none = { ipv4: true, ipv6: false, ...Object.fromEntries(layers.map((layer) => [layer, false])) };
const every = { ...none, ...Object.fromEntries(layers.map((layer) => [layer, true])) };

whenDocker(describe)('NetReach over every way to the runners', () => {
  let rig: RuntimeRig;
  beforeAll(async () => {
    // A node without its agent stays one for the time of a round.
    rig = await RuntimeRig.start(['one', 'two'], { settings: { ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '120000' } });
  }, 240_000);
  afterAll(() => rig?.stop());

  const reach = (name: string, target: object) => ({ apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name }, spec: { schedule: { roundTimeoutSeconds: 60 }, request: { durationInSecond: 1, qps: 5, perRequestTimeoutInMS: 15_000 }, expect: { meanAccessDelayInMs: 10_000 }, target } });
  const run = async (value: string): Promise<ReportBody> => {
    await rig.cluster.must(['annotate', 'nr', 'all', `roundsman.io/run-now=${value}`, '--overwrite']);
    await rig.until(async () => expect(await rig.status('NetReach', 'all')).toMatchObject({ handledRunNow: value, finish: true }), 90_000);
    return rig.report('NetReach', 'all');
  };

  it('tests what it is told to and nothing else, and every request arrives', async () => {
    const tasks = [...layers.map((layer) => ({ name: `only-${layer.toLowerCase()}`, tested: [layer] as string[], target: { ...none, [layer]: true } })), { name: 'all', tested: [...layers], target: every }];
    await rig.cluster.apply(...tasks.map(({ name, target }) => reach(name, target)));
    for (const { name } of tasks) await rig.finished('NetReach', name, 90_000);
    const runners = (await rig.list<{ status: { addresses: { address: string }[]; ports: Record<string, number> } }>('roundsman.io/v1/runners')).map(({ status }) => `http://${status.addresses[0]?.address}:${status.ports['http']}`);
    for (const { name, tested } of tasks) {
      const report = await rig.report('NetReach', name);
      const { perTarget = [], notTested } = report;
      expect([name, [...new Set(perTarget.map(({ layer }) => layer))].sort(), notTested]).toEqual([name, [...tested].sort(), []]);
      const counter = `default.${name}.1`;
      const { [counter]: counted = 0 } = await countersAt(runners, [counter]);
      expect([name, counted, report.errors]).toEqual([name, arrivedIn([report], counted), report.errors]);
      expectSuccess(name, report);
    }
  });

  it('names the layer and the node where the forwarding of Services is gone', async () => {
    const [container] = ((await rig.cluster.docker.request('GET', '/containers/json')) as { Id: string; Names: string[] }[]).filter(({ Names }) => Names[0]?.startsWith('/k8s_POD_two__'));
    const { State } = (await rig.cluster.docker.request('GET', `/containers/${container?.Id}/json`)) as { State: { Pid: number } };
    const onTwo = (...command: string[]): string => execFileSync('nsenter', [`--net=/proc/${State.Pid}/ns/net`, '--', ...command], { encoding: 'utf8', env: { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` } });
    const clusterIP = (await rig.runtime(defaultRuntime.namespace, defaultRuntime.name))?.status?.paths.services[0]?.clusterIP ?? '';
    // Nobody puts the rules back, and what they do not catch does not find its way by those of the machine.
    await rig.cluster.kill(['agent-two']);
    for (const table of onTwo('nft', 'list', 'tables').trim().split('\n')) onTwo('nft', 'delete', ...table.split(' '));
    onTwo('ip', 'route', 'add', 'blackhole', clusterIP);
    const { state, verdict, perTarget = [] } = await run('broken');
    expect([state, verdict.state]).toEqual(['fail', 'broken']);
    expect(verdict.findings[0]).toMatchObject({ code: 'service-forwarding', severity: 'critical', subject: 'node two', layer: 'clusterIP' });
    expect(perTarget.filter(({ succeeded }) => succeeded === 0).map(({ node, target }) => `${node} ${target}`).sort()).toEqual(['one nodePort/v4/two', 'two clusterIP/v4', 'two nodePort/v4/two']);

    onTwo('ip', 'route', 'del', 'blackhole', clusterIP);
    rig.cluster.restart(['agent-two']);
    await rig.until(() => onTwo('nft', 'list', 'tables').includes('roundsman'), 60_000);
    const mended = await run('mended');
    expectSuccess('mended', mended);
  });
});
