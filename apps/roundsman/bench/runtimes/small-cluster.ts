import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonSet } from '@roundsman/api';
import { dockerUnavailable, startDocker, testImages, type TestDocker } from '@roundsman/testkit';
import { Gateway } from '../gateway.ts';
import { containerPids, pssMib } from '../processes.ts';

const command = join(import.meta.dirname, '../../../../scripts/roundsman.mjs');

/** `roundsman up` with virtual nodes on a Docker daemon of its own, whose default runtime is ready: so the image of the runners is there. */
export class SmallCluster {
  readonly docker: TestDocker;
  readonly gateway: Gateway;
  readonly #home: string;
  readonly #pid: number;

  private constructor(docker: TestDocker, home: string, pid: number, url: string) {
    this.docker = docker;
    this.#home = home;
    this.#pid = pid;
    this.gateway = new Gateway(url, readFileSync(this.tokenFile, 'utf8').trim());
  }

  static async start(nodes: number): Promise<SmallCluster> {
    const reason = await dockerUnavailable();
    if (reason !== undefined) throw new Error(`no Docker for this benchmark: ${reason}`);
    const docker = await startDocker();
    const home = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
    try {
      await testImages(docker);
      roundsman(home, 'up', '--detach', '--docker', docker.socket, '--nodes', String(nodes));
      const { pid, gateway } = JSON.parse(roundsman(home, 'status', '--json')) as { pid: number; gateway: string };
      return new SmallCluster(docker, home, pid, gateway);
    } catch (error) {
      await end(docker, home);
      throw error;
    }
  }

  get tokenFile(): string {
    return join(this.#home, 'token');
  }

  get kubeconfig(): string {
    return join(this.#home, 'kubeconfig');
  }

  /** Of the runners. */
  async image(): Promise<string> {
    const { spec } = await this.gateway.get<DaemonSet>('/apis/apps/v1/namespaces/roundsman-system/daemonsets/probe-runner');
    return spec.template.spec.containers[0]!.image!;
  }

  /** First processes of all containers that run. */
  containerPids(): Promise<number[]> {
    return containerPids(this.docker);
  }

  /** Of all processes and these containers (PSS). */
  memoryMib(containers: readonly number[]): number {
    return pssMib(this.#pid, ...containers);
  }

  stop(): Promise<void> {
    return end(this.docker, this.#home);
  }
}

const roundsman = (home: string, ...args: string[]): string => execFileSync(process.execPath, [command, ...args], { encoding: 'utf8', env: { ...process.env, ROUNDSMAN_HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] });

async function end(docker: TestDocker, home: string): Promise<void> {
  if (existsSync(join(home, 'state.json'))) roundsman(home, 'down', '--purge');
  await docker.stop();
  rmSync(home, { recursive: true, force: true });
}
