import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Pod } from '@roundsman/api';
import type { TestDocker } from '@roundsman/testkit';
import type { Gateway, Told } from '../gateway.ts';

const run = promisify(execFile);
/** The echo target of the runners, from their image: a program that starts alone. */
const program = '/app/dist/echo-main.js';
const port = 8080;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds from `docker run` of as many containers at a time until each has answered a request. */
export async function dockerRun(docker: TestDocker, image: string, containers: number): Promise<number> {
  const from = performance.now();
  const one = async (): Promise<string> => {
    const { stdout } = await run('docker', ['-H', docker.host, 'run', '-d', '--user', '65532:65532', image, program]);
    const id = stdout.trim();
    const { NetworkSettings } = (await docker.request('GET', `/containers/${id}/json`)) as { NetworkSettings: { IPAddress: string } };
    while (!(await fetch(`http://${NetworkSettings.IPAddress}:${port}/`).then(({ ok }) => ok, () => false))) await sleep(10);
    return id;
  };
  const ids = await Promise.all(Array.from({ length: containers }, one));
  const took = performance.now() - from;
  await run('docker', ['-H', docker.host, 'rm', '-f', ...ids]);
  return took;
}

/** Milliseconds from the creation of a bare DaemonSet with the same image and probe as a runtime's until all of its pods are Ready. */
export async function bareDaemonSet(gateway: Gateway, image: string, name: string, nodes: number): Promise<number> {
  const labels = { bare: name };
  const pods = `/api/v1/namespaces/default/pods?labelSelector=bare=${name}`;
  const container = { name: 'echo', image, imagePullPolicy: 'IfNotPresent', args: [program], readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1, timeoutSeconds: 2 } };
  const ready = new Set<string>();
  const all = Promise.withResolvers<void>();
  const end = await gateway.watch<Pod & Told>(pods, ({ metadata, status }) => {
    if (status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true) ready.add(metadata.name);
    if (ready.size === nodes) all.resolve();
  });
  const from = performance.now();
  await gateway.post('/apis/apps/v1/namespaces/default/daemonsets', { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container], terminationGracePeriodSeconds: 0 } } } });
  await all.promise;
  const took = performance.now() - from;
  end();
  await gateway.delete(`/apis/apps/v1/namespaces/default/daemonsets/${name}`);
  while ((await gateway.list(pods)).length > 0) await sleep(50);
  return took;
}
