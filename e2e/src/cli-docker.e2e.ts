import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, describe } from '@jest/globals';
import type { Node, Pod, Runtime } from '@roundsman/api';
import { eventually, startDocker, testImages, whenDocker, type TestDocker } from '@roundsman/testkit';
import { kubectlPath } from './kubectl-cluster.ts';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
const main = join(import.meta.dirname, '../../apps/roundsman/dist/main.js');
const within = { within: 90_000 };

/** `up` where Docker is: runners are pods, their image is made and loaded, NATS lets them in. */
whenDocker(describe)('roundsman up with Docker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-cli-docker-'));
  const home = join(folder, 'home');
  let docker: TestDocker;

  const program = (command: string, ...args: string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      const env = { ...process.env, ROUNDSMAN_HOME: home, KUBECONFIG: join(home, 'kubeconfig'), HOME: folder, NO_COLOR: '1', NODE_OPTIONS: '' };
      execFile(command, args, { env, cwd: '/' }, (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }));
    });
  const roundsman = (...args: string[]): Promise<Outcome> => program(process.execPath, main, ...args);
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await program(kubectlPath(), ...args);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const up = async (...args: string[]): Promise<void> => {
    const { stdout, stderr } = await roundsman('up', '--detach', ...args);
    if (!stdout.includes('Roundsman is up: 2 nodes')) throw new Error(stderr + stdout);
  };
  const pods = async (): Promise<Pod[]> => (JSON.parse(await kubectl('get', 'pods', '-n', 'roundsman-system', '-o', 'json')) as { items: Pod[] }).items;
  const defaultRuntime = async (): Promise<Runtime> => JSON.parse(await kubectl('get', 'runtime', 'default', '-n', 'roundsman-system', '-o', 'json')) as Runtime;
  const whole = async (): Promise<void> => {
    const { spec, status } = await defaultRuntime();
    expect([spec.kind, status?.phase, status?.ready, status?.desired]).toEqual(['DaemonSet', 'Ready', 2, 2]);
    expect((await pods()).map(({ status: { phase } = {} }) => phase)).toEqual(['Running', 'Running']);
  };
  const runners = async (): Promise<string[]> => (await kubectl('get', 'runners', '-o', 'name')).trim().split('\n');
  const containers = async (): Promise<number> => ((await docker.request('GET', '/containers/json?all=1')) as unknown[]).length;

  beforeAll(async () => {
    docker = await startDocker();
    await testImages(docker);
    await up('--nodes', '2', '--docker', docker.socket);
  }, 240_000);
  afterAll(async () => {
    await roundsman('down', '--purge');
    await docker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('carries tasks by a DaemonSet of the image as it is now, and says so', async () => {
    await eventually(whole, within);
    const [first] = await pods();
    const image = first?.spec.containers[0]?.image ?? '';
    expect(image).toMatch(/^roundsman\/probe-runner:.+-[0-9a-f]{12}$/);
    await eventually(async () => expect(await kubectl('get', 'daemonset', 'probe-runner', '-n', 'roundsman-system')).toMatch(/^probe-runner +2 +2 +2 /m), within);
    await eventually(async () => expect((await runners()).filter((name) => !/\/probe-runner-.*\.roundsman-system$/.test(name))).toEqual([]), within);
    await eventually(async () => expect(JSON.parse((await roundsman('status', '--json')).stdout)).toMatchObject({ state: 'ready', runners: 'daemonset', problems: [] }), within);
  });

  it('lets no task probe its NATS, not by its Service either', async () => {
    const task = { apiVersion: 'roundsman.io/v1', kind: 'AppHttpHealthy', metadata: { name: 'nats' }, spec: { schedule: { roundNumber: 1, roundTimeoutSeconds: 30 }, request: { qps: 2, durationInSecond: 1, perRequestTimeoutInMS: 500 }, target: { host: 'http://nats.roundsman-system.svc.cluster.local:4222/', method: 'GET' }, expect: { successRate: 1 } } };
    const { gateway } = JSON.parse(readFileSync(join(home, 'state.json'), 'utf8')) as { gateway: string };
    const ask = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${gateway}/apis/roundsman.io/v1/namespaces/default/${path}`, { ...init, headers: { authorization: `Bearer ${readFileSync(join(home, 'token'), 'utf8').trim()}`, 'content-type': 'application/json' } });
    expect((await ask('apphttphealthies', { method: 'POST', body: JSON.stringify(task) })).status).toBe(201);
    const report = await eventually(async () => {
      const response = await ask('reports/apphttphealthy-nats');
      return response.status === 200 && (await response.text());
    }, within);
    expect(report).toContain('"forbidden"');
  });

  it('loads the image again when it was removed and a pod wants it', async () => {
    const [victim] = await pods();
    const image = victim?.spec.containers[0]?.image ?? '';
    await docker.request('DELETE', `/images/${image}`);
    await kubectl('delete', 'pod', victim?.metadata.name ?? '', '-n', 'roundsman-system');
    await eventually(whole, within);
    await docker.request('GET', `/images/${image}/json`);
  });

  it('makes pods of a node that was deleted and is registered again anew, with addresses of its range; Services follow', async () => {
    await kubectl('delete', 'node', 'node-2');
    await eventually(async () => {
      const { spec, status } = JSON.parse(await kubectl('get', 'node', 'node-2', '-o', 'json')) as Node;
      expect(status?.conditions?.find(({ type }) => type === 'ServicesForwarded')?.status).toBe('True');
      const [pod] = (await pods()).filter((one) => one.spec.nodeName === 'node-2');
      expect(pod?.status?.podIP?.split('.').slice(0, 3)).toEqual(spec?.podCIDR?.split('.').slice(0, 3));
      await whole();
    }, within);
    await eventually(async () => expect(JSON.parse((await roundsman('status', '--json')).stdout)).toMatchObject({ state: 'ready', problems: [] }), within);
  });

  it('takes its pods over at a restart', async () => {
    const before = (await pods()).map(({ metadata }) => metadata.uid).sort();
    expect((await roundsman('down', '--keep-pods')).code).toBe(0);
    await up();
    await eventually(whole, within);
    expect((await pods()).map(({ metadata }) => metadata.uid).sort()).toEqual(before);
  });

  it('goes on with processes without Docker: nothing is left of the pods', async () => {
    expect((await roundsman('down')).code).toBe(0);
    expect(await containers()).toBe(0);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(home);
    await up('--docker', 'off');
    await eventually(async () => {
      expect(await pods()).toEqual([]);
      expect((await defaultRuntime()).spec.kind).toBe('Process');
      expect((await runners()).sort()).toEqual(['runner.roundsman.io/default-node-1', 'runner.roundsman.io/default-node-2']);
    }, within);
    expect((await roundsman('down', '--purge')).code).toBe(0);
    expect(existsSync(home)).toBe(false);
  });
});
