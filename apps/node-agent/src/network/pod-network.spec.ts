import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const within = { within: 60_000 };
const web = (more: object = {}) => ({
  terminationGracePeriodSeconds: 0,
  containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'mkdir /tmp/www; hostname >/tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www'], readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 }, ...more }],
});
/** Ends well when the URL answers. */
const asks = (url: string) => ({ restartPolicy: 'Never' as const, containers: [{ name: 'main', image: 'busybox:1.35', command: ['timeout', '15', 'wget', '-qO-', url] }] });

whenDocker(describe)('pods on the network of the machine', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    // Five addresses for pods.
    rig = await NodeRig.start({ prefix: 29, dualStack: true });
  });
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    await rig.down();
  });
  afterAll(() => rig?.stop());

  const ready = (name: string) =>
    eventually(() => {
      if (rig.container(name, 'main')?.ready !== true) throw new Error(`${name} is not ready: ${rig.intake.events(name).join('\n')}`);
    }, within);
  const addresses = (name: string): string[] => (rig.intake.status(name).podIPs ?? []).map(({ ip }) => ip);
  const succeeds = (name: string) => eventually(() => expect(rig.intake.status(name).phase).toBe('Succeeded'), within);

  it('wait for it, and are told so; then they have an address of each family, and reach each other by both', async () => {
    await rig.up({}, { untold: true });
    rig.intake.create('a', web());
    await eventually(() => expect(rig.intake.events('a')).toContainEqual('NetworkNotReady: network is not ready: the cluster has not told the addresses of this node yet'), within);
    expect(rig.intake.status('a').phase).toBe('Pending');
    rig.tell();
    await ready('a');
    const [v4 = '', v6 = ''] = addresses('a');
    expect([v4, v6]).toEqual([expect.stringMatching(/^10\./), expect.stringMatching(/^fd00:/)]);
    rig.intake.create('b4', asks(`http://${v4}:8080/`));
    rig.intake.create('b6', asks(`http://[${v6}]:8080/`));
    await succeeds('b4');
    await succeeds('b6');
    for (const host of [v4, `[${v6}]`]) expect(await (await fetch(`http://${host}:8080/`)).text()).toBe('a\n');
  });

  it('that find no address free are told, and run when one is', async () => {
    await rig.up();
    for (const name of ['a', 'b', 'c', 'd', 'e']) rig.intake.create(name, web());
    for (const name of ['a', 'b', 'c', 'd', 'e']) await ready(name);
    expect(new Set(['a', 'b', 'c', 'd', 'e'].flatMap(addresses)).size).toBe(10);
    rig.intake.create('f', web());
    await eventually(() => expect(rig.intake.events('f')).toContainEqual(`FailedCreatePodSandBox: Failed to create pod sandbox: no free address for the pod: all 5 of the node's range ${rig.ranges[0]} are in use`), within);
    const [free] = addresses('c');
    rig.intake.delete('c', 1);
    await ready('f');
    expect(addresses('f')[0]).toBe(free);
  });

  it('have their ports on the node, as long as they are there', async () => {
    const port = await freePort();
    await rig.up();
    rig.intake.create('web', web({ ports: [{ containerPort: 8080, hostPort: port }] }));
    await ready('web');
    const ask = async (): Promise<string> => (await fetch(`http://${rig.docker.gateway}:${port}/`, { signal: AbortSignal.timeout(10_000) })).text();
    expect(await eventually(ask, within)).toBe('web\n');
    rig.intake.delete('web', 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    await eventually(() => expect(ask()).rejects.toThrow());
  });

  it('leave nothing behind that is theirs', async () => {
    await rig.up();
    rig.intake.create('a', web());
    await ready('a');
    const links = async (): Promise<number> => (await promisify(execFile)('ip', ['-d', 'link', 'show'])).stdout.split(`alias roundsman:${rig.cluster}:`).length - 1;
    expect(await links()).toBe(1);
    rig.intake.delete('a', 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    await eventually(async () => expect(await links()).toBe(0));
  });
});

whenDocker(describe)('pods on a network of Docker', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start({ liveRestore: true });
    await rig.up({ network: 'docker' });
  });
  afterAll(() => rig?.stop());

  it('have addresses of their node’s range, which outlive the agent, and their ports where Docker puts them', async () => {
    const port = await freePort();
    rig.intake.create('a', web({ ports: [{ containerPort: 8080, hostPort: port }] }));
    await eventually(() => expect(rig.container('a', 'main')?.ready).toBe(true), within);
    const address = rig.intake.status('a').podIP ?? '';
    expect(address).toMatch(new RegExp(`^${rig.ranges[0]?.replace('0/24', '').replaceAll('.', '\\.')}\\d+$`));
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('a\n');
    await rig.down();
    await rig.up({ network: 'docker' });
    rig.intake.create('b', asks(`http://${address}:8080/`));
    await eventually(() => expect(rig.intake.status('b').phase).toBe('Succeeded'), within);
    expect(rig.intake.status('b').podIP).not.toBe(address);
    expect(rig.container('a', 'main')?.restartCount).toBe(0);
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
  });
});
