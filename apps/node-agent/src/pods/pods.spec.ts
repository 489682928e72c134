import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const image = 'busybox:1.35';
const within = { within: 40_000 };
type ContainerInput = PodSpecInput['containers'][number];
const sh = (script: string, more: Partial<ContainerInput> = {}): ContainerInput => ({ name: 'main', image, command: ['sh', '-c', script], ...more });
const forever = 'trap "exit 0" TERM; sleep 1000 & wait';

whenDocker(describe)('pods on a node', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start();
    await rig.up();
  });
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    await eventually(async () => expect(await rig.docker.request('GET', '/containers/json?all=1')).toEqual([]), within);
    rig.intake.configMaps.clear();
  });
  afterAll(() => rig.stop());

  /** Its first process is ready to be told to end: before it has said what it does then, it is deaf. */
  const trapped = async (name: string): Promise<void> => {
    const id = rig.container(name, 'main')?.containerID?.replace('docker://', '') ?? '';
    const { pid } = (await rig.runtime.inspect(id)) ?? {};
    await eventually(async () => expect(BigInt(`0x${/^SigCgt:\s*(\S+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]}`) & (1n << 14n)).not.toBe(0n));
  };
  const phase = (name: string, wanted: string) => eventually(() => expect(rig.intake.status(name).phase).toBe(wanted), within);

  it('run, tell their state as Kubernetes does, and end when they are deleted', async () => {
    rig.intake.create('web', { containers: [sh(forever)] });
    await phase('web', 'Running');
    await trapped('web');
    const status = rig.intake.status('web');
    expect(status).toMatchObject({ phase: 'Running', qosClass: 'BestEffort', hostIP: rig.docker.gateway, podIP: expect.stringMatching(/^10\./), startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) });
    expect(status.conditions?.map(({ type, status: holds }) => `${type}=${holds}`)).toEqual(['PodReadyToStartContainers=True', 'Initialized=True', 'Ready=True', 'ContainersReady=True', 'PodScheduled=True']);
    expect(rig.container('web', 'main')).toMatchObject({ ready: true, started: true, restartCount: 0, image, containerID: expect.stringMatching(/^docker:\/\/[0-9a-f]{64}$/), state: { running: {} }, lastState: {} });
    await eventually(() => expect(rig.intake.events('web')).toEqual([`Pulled: Container image "${image}" already present on machine`, 'Created: Created container: main', 'Started: Started container main']));
    rig.intake.delete('web');
    await eventually(() => !rig.intake.has('web'), within);
    await eventually(() => expect(rig.intake.events('web').at(-1)).toBe('Killing: Stopping container main'));
    expect(rig.intake.statuses.findLast(({ name }) => name === 'web')?.status).toMatchObject({ phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }] });
    expect(await rig.docker.request('GET', '/containers/json?all=1')).toEqual([]);
  });

  it('share one address and localhost; init containers come first, one after the other', async () => {
    rig.intake.create('pair', {
      initContainers: [sh('echo one >/share/order', { name: 'one', volumeMounts: [{ name: 'work', mountPath: '/share' }] }), sh('echo two >>/share/order', { name: 'two', volumeMounts: [{ name: 'work', mountPath: '/share' }] })],
      containers: [
        sh('mkdir /www; cp /share/order /www; httpd -f -p 8080 -h /www', { name: 'server', volumeMounts: [{ name: 'work', mountPath: '/share' }] }),
        sh('until timeout 2 wget -qO- http://localhost:8080/order >/dev/termination-log; do sleep 0.1; done; exit 0', { name: 'client' }),
      ],
      volumes: [{ name: 'work', emptyDir: {} }],
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
    });
    await eventually(() => expect(rig.container('pair', 'client')?.state.terminated).toMatchObject({ exitCode: 0, reason: 'Completed', message: 'one\ntwo\n' }), within);
    expect(rig.container('pair', 'one')).toMatchObject({ ready: true, restartCount: 0, state: { terminated: { reason: 'Completed' } } });
    // The client may have ended before it was heard that the server was started.
    await eventually(() => expect(rig.intake.status('pair')).toMatchObject({ phase: 'Running', conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'containers with unready status: [client]' })]) }));
  });

  it('that end are started again by their policy, with a growing wait', async () => {
    rig.intake.create('always', { containers: [sh('exit 3')] });
    rig.intake.create('on-failure', { restartPolicy: 'OnFailure', containers: [sh('exit 0')] });
    rig.intake.create('never', { restartPolicy: 'Never', containers: [sh('echo gone wrong >/dev/termination-log; exit 1')] });
    rig.intake.create('init-fails', { restartPolicy: 'Never', initContainers: [sh('exit 7', { name: 'init' })], containers: [sh(forever)] });
    const uid = rig.intake.get('always').metadata.uid;
    await eventually(
      () =>
        expect(rig.container('always', 'main')).toMatchObject({
          restartCount: 1,
          ready: false,
          state: { waiting: { reason: 'CrashLoopBackOff', message: `back-off 10s restarting failed container=main pod=always_default(${uid})` } },
          lastState: { terminated: { exitCode: 3, reason: 'Error' } },
        }),
      within,
    );
    expect(rig.intake.status('always').phase).toBe('Running');
    await eventually(() => expect(rig.intake.events('always')).toContain(`BackOff: Back-off restarting failed container main in pod always_default(${uid})`));
    await phase('on-failure', 'Succeeded');
    expect(rig.intake.status('on-failure').conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }));
    await phase('never', 'Failed');
    expect(rig.container('never', 'main')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 1, reason: 'Error', message: 'gone wrong\n' } } });
    await phase('init-fails', 'Failed');
    expect(rig.container('init-fails', 'main')).toMatchObject({ state: { waiting: { reason: 'PodInitializing' } } });
    await eventually(() => expect(rig.container('always', 'main')?.restartCount).toBeGreaterThanOrEqual(2), { within: 60_000 });
  });

  it('that cannot be run say why in Kubernetes’ words', async () => {
    rig.intake.create('no-image', { containers: [{ name: 'main', image: 'localhost:1/missing:1' }] });
    rig.intake.create('never-pull', { containers: [{ name: 'main', image: 'missing:1', imagePullPolicy: 'Never' }] });
    rig.intake.create('bad-name', { containers: [{ name: 'main', image: 'Not A Name' }] });
    rig.intake.create('no-map', { containers: [sh(forever, { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'absent', key: 'a' } } }] })] });
    rig.intake.create('no-command', { containers: [{ name: 'main', image, command: ['/no/such/program'] }] });
    rig.intake.create('no-root', { containers: [sh(forever)], securityContext: { runAsNonRoot: true } });
    rig.intake.create('no-dir', { containers: [sh(forever)], volumes: [{ name: 'host', hostPath: { path: '/no/such/folder', type: 'Directory' } }] });
    rig.intake.create('no-volume-map', { containers: [sh(forever)], volumes: [{ name: 'map', configMap: { name: 'absent' } }] });
    // Told of while the container is still there: what the kernel tells of one that has ended with it, daemons may miss.
    rig.intake.create('oom', { restartPolicy: 'Never', containers: [sh('tail /dev/zero; code=$?; sleep 2; exit $code', { resources: { limits: { memory: '16Mi' } } })] });
    const waiting = (name: string) => rig.container(name, 'main')?.state.waiting;
    await eventually(() => expect(waiting('no-map')).toEqual({ reason: 'CreateContainerConfigError', message: 'configmap "absent" not found' }), within);
    await eventually(() => expect(rig.intake.events('no-volume-map')).toContain('FailedMount: MountVolume.SetUp failed for volume "map" : configmap "absent" not found'), within);
    // What was missing comes: the pods run without being made anew. Now, since they wait longer each time.
    rig.intake.configMaps.set('absent', { a: 'now' });
    await eventually(() => expect(waiting('no-image')).toMatchObject({ reason: 'ImagePullBackOff', message: expect.stringContaining('Back-off pulling image "localhost:1/missing:1": ErrImagePull: ') }), within);
    await eventually(() =>
      expect(rig.intake.events('no-image').slice(0, 4)).toEqual([
        'Pulling: Pulling image "localhost:1/missing:1"',
        expect.stringContaining('Failed: Failed to pull image "localhost:1/missing:1": '),
        'Failed: Error: ErrImagePull',
        'BackOff: Back-off pulling image "localhost:1/missing:1"',
      ]),
    );
    await eventually(() => expect(waiting('never-pull')).toEqual({ reason: 'ErrImageNeverPull', message: 'Container image "missing:1" is not present with pull policy of Never' }), within);
    await eventually(() => expect(waiting('bad-name')).toMatchObject({ reason: 'InvalidImageName', message: expect.stringContaining('invalid reference format') }), within);
    await eventually(() => expect(rig.container('no-command', 'main')).toMatchObject({ state: { waiting: { reason: expect.stringMatching(/RunContainerError|CrashLoopBackOff/) } }, lastState: { terminated: { exitCode: 128, reason: 'StartError' } } }), within);
    await eventually(() => expect(rig.intake.events('no-command')).toContainEqual(expect.stringMatching(/^Failed: Error: failed to start container: .*no such file or directory/)));
    await eventually(() => expect(waiting('no-root')).toMatchObject({ reason: 'CreateContainerConfigError', message: expect.stringContaining('container has runAsNonRoot and image will run as root') }), within);
    await eventually(() => expect(rig.intake.events('no-dir')).toContain('FailedMount: MountVolume.SetUp failed for volume "host" : hostPath type check failed: /no/such/folder is not a directory'), within);
    await eventually(() => expect(waiting('no-dir')).toEqual({ reason: 'ContainerCreating' }));
    await eventually(() => expect(rig.container('oom', 'main')?.state.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' }), within);
    await phase('no-volume-map', 'Running');
    await phase('no-map', 'Running');
  });

  it('end within their grace, sooner when they are deleted again with less, and at once by force', async () => {
    const stubborn = sh('trap "" TERM; while :; do sleep 0.1; done');
    rig.intake.create('stubborn', { containers: [stubborn], terminationGracePeriodSeconds: 300 });
    rig.intake.create('forced', { containers: [stubborn], terminationGracePeriodSeconds: 300 });
    rig.intake.create('polite', { containers: [sh(forever, { lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo bye >/dev/termination-log'] } } } })] });
    rig.intake.create('slow-hook', { containers: [sh(forever, { lifecycle: { preStop: { exec: { command: ['sleep', '100'] } } } })], terminationGracePeriodSeconds: 1 });
    for (const name of rig.intake.names) await phase(name, 'Running');
    rig.intake.delete('stubborn');
    rig.intake.delete('polite');
    rig.intake.delete('slow-hook');
    rig.intake.delete('forced', 0);
    await eventually(() => expect(rig.intake.has('polite')).toBe(false), within);
    expect(rig.intake.statuses.findLast(({ name }) => name === 'polite')?.status.containerStatuses?.[0]?.state.terminated).toMatchObject({ message: 'bye\n' });
    expect(rig.intake.has('stubborn')).toBe(true);
    rig.intake.delete('stubborn', 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    expect(rig.intake.statuses.findLast(({ name }) => name === 'stubborn')?.status.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    await eventually(async () => expect(await rig.docker.request('GET', '/containers/json?all=1')).toEqual([]), within);
  });

  it('are made anew, with a new sandbox, when their sandbox was killed; a container that was removed by hand comes again', async () => {
    rig.intake.create('web', { containers: [sh(forever)], initContainers: [sh('exit 0', { name: 'init' })], terminationGracePeriodSeconds: 1 });
    await phase('web', 'Running');
    const list = async () => (await rig.docker.request('GET', '/containers/json')) as { Id: string; Command: string }[];
    const first = rig.container('web', 'main')?.containerID;
    const pause = (await list()).find(({ Id }) => `docker://${Id}` !== first)!;
    await rig.docker.request('POST', `/containers/${pause.Id}/kill`);
    await eventually(() => expect(rig.container('web', 'main')).toMatchObject({ restartCount: 1, ready: true }), within);
    expect(rig.container('web', 'init')).toMatchObject({ restartCount: 1, ready: true });
    await eventually(() => expect(rig.intake.events('web')).toContain('SandboxChanged: Pod sandbox changed, it will be killed and re-created.'));
    const second = rig.container('web', 'main')?.containerID ?? '';
    await rig.docker.request('DELETE', `/containers/${second.replace('docker://', '')}?force=1`);
    await eventually(() => expect(rig.container('web', 'main')).toMatchObject({ ready: true, restartCount: 2 }), { within: 60_000 });
  });

  it('past their deadline fail; what the node has no room for is refused', async () => {
    rig.intake.create('deadline', { activeDeadlineSeconds: 1, containers: [sh(forever)] });
    await phase('deadline', 'Failed');
    expect(rig.intake.status('deadline')).toMatchObject({ reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' });
    rig.intake.create('large', { containers: [sh(forever, { resources: { requests: { cpu: '5' } } })] });
    await phase('large', 'Failed');
    expect(rig.intake.status('large')).toMatchObject({ reason: 'OutOfcpu', message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000" });
    await eventually(() => expect(rig.intake.events('large')).toEqual(["OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"]));
  });
});
