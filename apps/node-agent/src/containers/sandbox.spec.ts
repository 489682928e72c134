import { readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { eventually, freePort, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const within = { within: 60_000 };
const sh = (name: string, script: string, more: Partial<PodSpecInput['containers'][number]> = {}): PodSpecInput['containers'][number] => ({ name, image: 'busybox:1.35', command: ['sh', '-c', script], ...more });
const forever = 'trap "exit 0" TERM; sleep 1000 & wait';
/** Tells which namespace of that kind it is in. */
const tell = (kind: 'pid' | 'ipc') => `readlink /proc/self/ns/${kind} >/dev/termination-log`;

whenDocker(describe)('what pods share', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start();
    await rig.up();
  });
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
  });
  afterAll(() => rig.stop());

  const said = async (pod: string, container: string): Promise<string | undefined> => {
    await eventually(() => expect(rig.container(pod, container)?.state.terminated?.exitCode).toBe(0), within);
    return rig.container(pod, container)?.state.terminated?.message?.trim();
  };

  it('processes and IPC: their own each, those of the pod, or the machine’s', async () => {
    const both = (kind: 'pid' | 'ipc') => [sh('a', tell(kind)), sh('b', tell(kind))];
    // The first process of its namespace (`$$$$`: Kubernetes makes `$$` of it): the one that has ended may leave its number to the next.
    const first = 'echo $$$$ $(readlink /proc/self/ns/pid) >/dev/termination-log';
    rig.intake.create('own', { restartPolicy: 'Never', containers: [sh('a', first), sh('b', first)] });
    rig.intake.create('shared', { restartPolicy: 'Never', shareProcessNamespace: true, containers: both('pid') });
    rig.intake.create('host-pid', { restartPolicy: 'Never', hostPID: true, containers: both('pid') });
    rig.intake.create('pod-ipc', { restartPolicy: 'Never', containers: both('ipc') });
    rig.intake.create('host-ipc', { restartPolicy: 'Never', hostIPC: true, containers: both('ipc') });
    const pair = async (pod: string) => [await said(pod, 'a'), await said(pod, 'b')] as const;
    const [pid, ipc] = [readlinkSync('/proc/self/ns/pid'), readlinkSync('/proc/self/ns/ipc')];
    for (const own of await pair('own')) {
      expect(own).toMatch(/^1 pid:/);
      expect(own).not.toBe(`1 ${pid}`);
    }
    const [sharedA, sharedB] = await pair('shared');
    expect(sharedA).toBe(sharedB);
    expect(sharedA).not.toBe(pid);
    expect(await pair('host-pid')).toEqual([pid, pid]);
    const [ipcA, ipcB] = await pair('pod-ipc');
    expect(ipcA).toBe(ipcB);
    expect(ipcA).not.toBe(ipc);
    expect(await pair('host-ipc')).toEqual([ipc, ipc]);
  });

  it('how names are resolved, as the pod says', async () => {
    const say = [sh('a', 'cat /etc/resolv.conf >/dev/termination-log')];
    rig.intake.create('first', { restartPolicy: 'Never', containers: say });
    rig.intake.create('host', { restartPolicy: 'Never', hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet', containers: say });
    rig.intake.create('own', { restartPolicy: 'Never', dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'], options: [{ name: 'rotate' }] }, containers: say });
    const cluster = /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local.*\nnameserver 10\.255\.0\.10\noptions ndots:5$/;
    expect(await said('first', 'a')).toMatch(cluster);
    expect(await said('host', 'a')).toMatch(cluster);
    expect(await said('own', 'a')).toBe('nameserver 192.0.2.1\noptions rotate');
  });

  it('a port of the host: that it is in use is told, and the pod runs when it is free', async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve, reject) => other.once('error', reject).listen(port, '0.0.0.0', resolve));
    rig.intake.create('web', { containers: [sh('main', forever, { ports: [{ containerPort: 80, hostPort: port }] })] });
    await eventually(() => expect(rig.intake.events('web')).toContainEqual(expect.stringMatching(new RegExp(`^FailedCreatePodSandBox: Failed to create pod sandbox: .*${port}.*already in use`))), within);
    await eventually(() => expect(rig.intake.status('web').phase).toBe('Pending'));
    await eventually(async () => expect(await rig.docker.request('GET', '/containers/json?all=1')).toEqual([]));
    // Another pod of this node that wants it is not even tried.
    rig.intake.create('rival', { containers: [sh('main', forever, { ports: [{ containerPort: 80, hostPort: port }] })] });
    await eventually(() => expect(rig.intake.status('rival')).toMatchObject({ phase: 'Failed', reason: 'NodePorts' }), within);
    await new Promise((resolve) => other.close(resolve));
    await eventually(() => expect(rig.intake.status('web').phase).toBe('Running'), within);
  });
});
