import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const image = 'busybox:1.35';
const within = { within: 20_000 };

whenDocker(describe)('pods on a node', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start();
    await rig.up();
  }, 60_000);
  afterAll(() => rig.stop(), 60_000);

  it('run, tell their state as Kubernetes does, and end when they are deleted', async () => {
    rig.intake.create('web', { containers: [{ name: 'main', image, command: ['sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait'] }] });
    await eventually(() => rig.intake.status('web').phase === 'Running', within);
    const status = rig.intake.status('web');
    expect(status).toMatchObject({ phase: 'Running', qosClass: 'BestEffort', hostIP: rig.docker.gateway, podIP: expect.stringMatching(/^10\./), startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) });
    expect(status.conditions?.map(({ type, status: holds }) => `${type}=${holds}`)).toEqual(['PodReadyToStartContainers=True', 'Initialized=True', 'Ready=True', 'ContainersReady=True', 'PodScheduled=True']);
    expect(rig.container('web', 'main')).toMatchObject({ ready: true, started: true, restartCount: 0, image, containerID: expect.stringMatching(/^docker:\/\/[0-9a-f]{64}$/), state: { running: {} }, lastState: {} });
    await eventually(() => expect(rig.intake.events('web')).toEqual([`Pulled: Container image "${image}" already present on machine`, 'Created: Created container: main', 'Started: Started container main']));
    rig.intake.delete('web');
    await eventually(() => !rig.intake.has('web'), within);
    expect(rig.intake.events('web').at(-1)).toBe('Killing: Stopping container main');
    expect(rig.intake.statuses.findLast(({ name }) => name === 'web')?.status).toMatchObject({ phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }] });
    expect(await rig.docker.request('GET', '/containers/json?all=1')).toEqual([]);
  });
});
