import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bounded, compared, dockerUnavailable, median, printFigures, startDocker, testImages, type Figure, type TestDocker } from '@roundsman/testkit';
import Docker from 'dockerode';
import { Gateway } from './gateway.ts';

const command = join(import.meta.dirname, '../../../scripts/roundsman.mjs');
const image = 'busybox:1.36';
const program = ['sleep', '100000'];
const singles = 20;
const many = 100;
/** As many bare calls at a time as the product lets the daemon have. */
const inFlight = 8;

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly phase?: string; readonly conditions?: { type: string; status: string }[] };
}

/** Pods of the small cluster (three virtual nodes, one Docker) against bare Docker on the same daemon, in turns. */
export async function run(): Promise<Figure[]> {
  const reason = await dockerUnavailable();
  if (reason !== undefined) throw new Error(`no Docker for this benchmark: ${reason}`);
  const docker = await startDocker();
  const home = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const member = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const roundsman = (where: string, ...args: string[]): string => execFileSync(process.execPath, [command, ...args], { encoding: 'utf8', env: { ...process.env, ROUNDSMAN_HOME: where }, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await testImages(docker);
    roundsman(home, 'up', '--detach', '--docker', docker.socket, '--listen', '127.0.0.1');
    const { gateway } = JSON.parse(roundsman(home, 'status', '--json')) as { gateway: string };
    const cluster = new Cluster(new Gateway(gateway, readFileSync(join(home, 'token'), 'utf8').trim()));

    const ours: number[] = [];
    const bare: number[] = [];
    for (let run = 0; run <= singles; run += 1) {
      const podMs = await cluster.startOne(`single-${run}`);
      const runMs = dockerRun(docker, `single-${run}`);
      // The first of each warms up.
      if (run === 0) continue;
      ours.push(podMs);
      bare.push(runMs);
    }
    const bareRate = await bareRateOf(docker);
    const podRate = await cluster.startMany();
    const lostSeconds = await lostNode(cluster, (...args) => roundsman(member, ...args), roundsman(home, 'token'), member);
    return [
      compared('create to Running through the API, one container, p50 of 20', 'ms', median(ours), '`docker run -d`', median(bare), '<= docker run + 200 ms', (own, peer) => own <= peer + 200),
      compared(`${many} pods of a Deployment on 3 nodes until all are Ready`, 'pods/s', podRate, 'bare dockerode calls for the same containers', bareRate, 'ratio >= 0.8', (own, peer) => own / peer >= 0.8),
      bounded('a killed node is noticed after', 's', lostSeconds, '<', 11),
    ];
  } finally {
    for (const where of [member, home]) if (existsSync(join(where, 'state.json'))) roundsman(where, 'down', '--purge');
    await docker.stop();
    rmSync(home, { recursive: true, force: true });
    rmSync(member, { recursive: true, force: true });
  }
}

class Cluster {
  readonly gateway: Gateway;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  /** Watches pods until `done` says so of one of them; `begin` runs once the watch is open. */
  async until(selector: string, begin: () => Promise<unknown>, done: (pod: Pod) => boolean): Promise<void> {
    const over = Promise.withResolvers<void>();
    let isOver = false;
    const end = await this.gateway.watch<Pod>(`/api/v1/namespaces/default/pods?labelSelector=${selector}`, (pod) => {
      if (isOver || !done(pod)) return;
      isOver = true;
      over.resolve();
    });
    const begun = begin();
    await over.promise;
    end();
    await begun;
  }

  /** Milliseconds from the request that creates a pod until a watch says that it is Running. */
  async startOne(name: string): Promise<number> {
    let from = 0;
    const spec = { containers: [{ name: 'main', image, args: program, imagePullPolicy: 'IfNotPresent' }], terminationGracePeriodSeconds: 0 };
    const create = async (): Promise<void> => {
      from = performance.now();
      await this.gateway.post('/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { run: name } }, spec });
    };
    let took = 0;
    await this.until(`run=${name}`, create, ({ status }) => {
      took = performance.now() - from;
      return status?.phase === 'Running';
    });
    await this.gateway.delete(`/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`);
    return took;
  }

  /** Pods per second from the creation of a Deployment until its last pod is Ready. */
  async startMany(): Promise<number> {
    const labels = { run: 'many' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image, args: program, imagePullPolicy: 'IfNotPresent' }], terminationGracePeriodSeconds: 0 } };
    const ready = new Set<string>();
    const from = performance.now();
    await this.until(
      'run=many',
      () => this.gateway.post('/apis/apps/v1/namespaces/default/deployments', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'many' }, spec: { replicas: many, selector: { matchLabels: labels }, template } }),
      ({ metadata, status }) => {
        if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')) ready.add(metadata.name);
        return ready.size === many;
      },
    );
    return many / ((performance.now() - from) / 1000);
  }
}

/** Milliseconds of `docker run -d` with the program of Docker itself. */
function dockerRun(docker: TestDocker, name: string): number {
  const from = performance.now();
  const done = spawnSync('docker', ['-H', docker.host, 'run', '-d', '--name', name, image, ...program], { encoding: 'utf8' });
  const took = performance.now() - from;
  if (done.status !== 0) throw new Error(`docker run: ${done.stderr}`);
  spawnSync('docker', ['-H', docker.host, 'rm', '-f', name]);
  return took;
}

/** The same containers by bare calls: one that holds the network, and one that joins it; pairs per second. */
async function bareRateOf(docker: TestDocker): Promise<number> {
  const client = new Docker({ socketPath: docker.socket });
  const made: Docker.Container[] = [];
  let next = 0;
  const from = performance.now();
  const worker = async (): Promise<void> => {
    while (next < many) {
      next += 1;
      const pause = await client.createContainer({ Image: 'roundsman/pause:1', HostConfig: { IpcMode: 'shareable' } });
      await pause.start();
      const shared = `container:${pause.id}`;
      const main = await client.createContainer({ Image: image, Cmd: program, HostConfig: { NetworkMode: shared, IpcMode: shared } });
      await main.start();
      made.push(main, pause);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const rate = many / ((performance.now() - from) / 1000);
  for (let at = 0; at < made.length; at += inFlight) await Promise.all(made.slice(at, at + inFlight).map((one) => one.remove({ force: true })));
  return rate;
}

/** Seconds from the end of a node's agent (SIGKILL) until its Ready is Unknown. */
async function lostNode(cluster: Cluster, roundsman: (...args: string[]) => string, joinCommand: string, member: string): Promise<number> {
  const [, address = '', token = ''] = /join (\S+) --token (\S+)/.exec(joinCommand) ?? [];
  roundsman('join', address, '--token', token, '--name', 'far', '--docker', 'off', '--detach');
  const ready = async (): Promise<string | undefined> =>
    (await cluster.gateway.get<{ status?: { conditions?: { type: string; status: string }[] } }>('/api/v1/nodes/far').catch(() => undefined))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  while ((await ready()) !== 'True') await sleep(100);
  const { supervisor } = JSON.parse(readFileSync(join(member, 'state.json'), 'utf8')) as { supervisor: { pid: number } };
  process.kill(supervisor.pid, 'SIGKILL');
  const from = performance.now();
  while ((await ready()) === 'True') await sleep(20);
  return (performance.now() - from) / 1000;
}

if (import.meta.main) await printFigures(run());
