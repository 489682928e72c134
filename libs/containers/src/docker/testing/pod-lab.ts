import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { eventually, ownNumber, startDocker, testImages, type DockerOptions, type TestDocker } from '@roundsman/testkit';
import type { ContainerConfig, LogOptions, PodContainer, Sandbox, SandboxNetwork, SandboxSpec } from '../../pod-runtime.ts';
import { DockerPodRuntime } from '../docker-pod-runtime.ts';
import { containerOf, sandboxOf } from './pods.ts';

const networkName = 'lab';

/** A signal that never comes. */
export const never: AbortSignal = new AbortController().signal;

/** A runtime on a daemon of its own, with the images of the tests. */
export class PodLab {
  readonly docker: TestDocker;
  readonly runtime: DockerPodRuntime;
  /** Apart from those that daemons, machines and clusters of tests have. */
  readonly range = `10.${ownNumber(140, 160)}.${Math.floor(Math.random() * 254) + 1}.0/24`;

  private constructor(docker: TestDocker) {
    this.docker = docker;
    this.runtime = this.runtimeOf('node-1');
  }

  static async start(options?: DockerOptions): Promise<PodLab> {
    const docker = await startDocker(options);
    await testImages(docker);
    return new PodLab(docker);
  }

  async stop(): Promise<void> {
    for (const { podUid } of await this.runtime.pods()) await this.runtime.removePod(podUid);
    await this.runtime.removeNetwork(networkName);
    await this.runtime.close();
    await this.docker.stop();
  }

  runtimeOf(node: string): DockerPodRuntime {
    return new DockerPodRuntime({ cluster: 'home', node, socketPath: this.docker.socket });
  }

  /** A network of the daemon's, with the address of this number on it. */
  async network(number: number): Promise<Extract<SandboxNetwork, { kind: 'docker' }>> {
    await this.runtime.ensureNetwork(networkName, [this.range]);
    return { kind: 'docker', network: networkName, addresses: [this.range.replace('0/24', String(number))] };
  }

  async pod(more: Partial<SandboxSpec> = {}): Promise<[SandboxSpec, Sandbox]> {
    const spec = sandboxOf(more);
    return [spec, await this.runtime.startSandbox(spec)];
  }

  /** A pod with one container that runs a script of busybox. */
  async run(script: string, more: Partial<ContainerConfig> = {}, sandboxMore: Partial<SandboxSpec> = {}): Promise<{ spec: SandboxSpec; sandbox: Sandbox; container: PodContainer }> {
    const [spec, sandbox] = await this.pod(sandboxMore);
    return { spec, sandbox, container: await this.runtime.startContainer(containerOf(spec, sandbox.id, script, more)) };
  }

  async output(id: string, options: Partial<LogOptions> = {}): Promise<string> {
    return text(await this.runtime.logs(id, { follow: true, timestamps: false, ...options }, never));
  }

  /** Its first process has said what it does at TERM: before that it is deaf. */
  async trapped(id: string): Promise<void> {
    const { pid } = (await this.runtime.inspect(id)) ?? {};
    await eventually(() => ((BigInt(`0x${/^SigCgt:\s*(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]}`) >> 14n) & 1n) === 1n);
  }

  ended(id: string): Promise<PodContainer> {
    return eventually(async () => {
      const container = await this.runtime.inspect(id);
      return container?.state === 'exited' && container;
    }) as Promise<PodContainer>;
  }

  /** Runs a script to its end in a pod that is then removed: what it printed and how it ended. */
  async outcome(script: string, more: Partial<ContainerConfig> = {}, sandboxMore: Partial<SandboxSpec> = {}): Promise<{ printed: string; container: PodContainer }> {
    const { spec, container } = await this.run(script, more, sandboxMore);
    const printed = await this.output(container.id);
    const ended = await this.ended(container.id);
    await this.runtime.removePod(spec.podUid);
    return { printed, container: ended };
  }
}
