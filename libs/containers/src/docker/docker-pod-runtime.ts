import type { Duplex, Readable } from 'node:stream';
import {
  RuntimeProblem,
  type ContainerConfig,
  type ContainerStats,
  type ExecOptions,
  type ExecSession,
  type ImageStatus,
  type LogOptions,
  type Owner,
  type PodContainer,
  type PodOnRuntime,
  type PodRuntime,
  type RegistryCredentials,
  type RuntimeEvent,
  type Sandbox,
  type SandboxSpec,
} from '../pod-runtime.ts';
import { PodConnections } from './connection/pod-connections.ts';
import { Containers } from './containers.ts';
import { Daemon, socketPathOf } from './daemon.ts';
import { RuntimeEvents } from './events.ts';
import { loadArchive } from './image-archive.ts';
import { imageStatus, pullImage, removeOldBuilds } from './images.ts';
import { containerLogs } from './logs.ts';
import { readLabels } from './names.ts';
import { Networks } from './networks.ts';
import { Sandboxes } from './sandboxes.ts';
import { attachTo, execIn } from './sessions.ts';
import { ContainerStatistics } from './stats/container-stats.ts';

/** How long the daemon is given to clear a pod away, milliseconds. */
const removeWithinMs = 30_000;
const removeAgainMs = 100;

export interface DockerPodRuntimeOptions extends Owner {
  /** Unix socket of the daemon; default: DOCKER_HOST, then /var/run/docker.sock. */
  readonly socketPath?: string;
}

/** Pods on a Docker daemon of this machine: a pause container holds what the containers of a pod share. */
export class DockerPodRuntime implements PodRuntime {
  readonly #daemon: Daemon;
  readonly #sandboxes: Sandboxes;
  readonly #containers: Containers;
  readonly #networks: Networks;
  readonly #events: RuntimeEvents;
  readonly #connections: PodConnections;
  readonly #statistics: ContainerStatistics;
  readonly #unlisten: () => void;

  constructor({ cluster, node, socketPath }: DockerPodRuntimeOptions) {
    const owner: Owner = { cluster, node };
    this.#daemon = new Daemon(socketPath ?? socketPathOf(process.env['DOCKER_HOST']));
    this.#sandboxes = new Sandboxes(this.#daemon, owner);
    this.#containers = new Containers(this.#daemon, owner);
    this.#networks = new Networks(this.#daemon, owner);
    this.#events = new RuntimeEvents(this.#daemon, owner);
    this.#connections = new PodConnections(this.#daemon);
    this.#statistics = new ContainerStatistics(this.#daemon);
    // First of all listeners: who is told of a change finds what it led to.
    this.#unlisten = this.#events.listen(({ id }) => this.#containers.changed(id));
  }

  get version(): string {
    return `docker://${this.#daemon.version}`;
  }

  problem(): Promise<string | undefined> {
    return this.#daemon.problem();
  }

  image(reference: string): Promise<ImageStatus | undefined> {
    return imageStatus(this.#daemon, reference);
  }

  pull(reference: string, signal?: AbortSignal, credentials?: RegistryCredentials): Promise<ImageStatus> {
    return pullImage(this.#daemon, reference, signal, credentials);
  }

  loadImages(archive: string): Promise<void> {
    return loadArchive(this.#daemon, archive);
  }

  removeOldBuilds(kept: readonly string[]): Promise<string[]> {
    return removeOldBuilds(this.#daemon, kept);
  }

  startSandbox(spec: SandboxSpec): Promise<Sandbox> {
    return this.#sandboxes.start(spec);
  }

  sandbox(podUid: string): Promise<Sandbox | undefined> {
    return this.#sandboxes.of(podUid);
  }

  ensureNetwork(name: string, ranges: readonly string[]): Promise<void> {
    return this.#networks.ensure(name, ranges);
  }

  removeNetwork(name: string): Promise<void> {
    return this.#networks.remove(name);
  }

  async removePod(podUid: string): Promise<void> {
    for (const deadline = Date.now() + removeWithinMs; ; ) {
      const failed = await this.#removeAll(podUid);
      if ((await this.#containers.list(podUid)).length === 0) return;
      if (failed?.code === 'Unavailable') throw failed;
      if (Date.now() > deadline) throw failed ?? new RuntimeProblem('Sandbox', `what is left of pod ${podUid} is not removed within ${removeWithinMs / 1000} s`);
      // A file system that is still busy is free a moment later.
      await new Promise((resolve) => setTimeout(resolve, removeAgainMs));
    }
  }

  /** The sandbox last: the others share it. What could not be removed, if anything. */
  async #removeAll(podUid: string): Promise<RuntimeProblem | undefined> {
    const all = (await this.#containers.list(podUid)).map(({ Id, Labels }) => ({ id: Id, isSandbox: readLabels(Labels).container === undefined }));
    const results: PromiseSettledResult<void>[] = [];
    for (const sandboxes of [false, true]) {
      const ids = all.filter(({ isSandbox }) => isSandbox === sandboxes).map(({ id }) => id);
      if (sandboxes) for (const id of ids) this.#forgetSandbox(id);
      results.push(...(await Promise.allSettled(ids.map((id) => this.#containers.remove(id)))));
    }
    return results.find((result) => result.status === 'rejected')?.reason as RuntimeProblem | undefined;
  }

  #forgetSandbox(id: string): void {
    this.#connections.forget(id);
    this.#sandboxes.forget(id);
  }

  async startContainer(config: ContainerConfig): Promise<PodContainer> {
    return this.#containers.start(config, await this.#sandboxes.modesOf(config.sandboxId));
  }

  stopContainer(id: string, graceMs: number): Promise<void> {
    return this.#containers.stop(id, graceMs);
  }

  removeContainer(id: string): Promise<void> {
    return this.#containers.remove(id);
  }

  inspect(id: string): Promise<PodContainer | undefined> {
    return this.#containers.inspect(id);
  }

  pods(): Promise<PodOnRuntime[]> {
    return this.#containers.pods();
  }

  watch(listener: (event: RuntimeEvent) => void): () => void {
    return this.#events.listen(listener);
  }

  logs(id: string, options: LogOptions, signal: AbortSignal): Promise<Readable> {
    return containerLogs(this.#daemon, id, options, signal);
  }

  exec(id: string, options: ExecOptions, signal: AbortSignal): Promise<ExecSession> {
    return execIn(this.#daemon, id, options, signal);
  }

  attach(id: string, options: Omit<ExecOptions, 'command'>, signal: AbortSignal): Promise<ExecSession> {
    return attachTo(this.#daemon, id, options, signal);
  }

  async connect(podUid: string, port: number, signal: AbortSignal): Promise<Duplex> {
    const sandbox = (await this.#containers.list(podUid)).find(({ Labels }) => readLabels(Labels).container === undefined);
    if (sandbox === undefined) throw new RuntimeProblem('NotFound', `pod ${podUid} has no sandbox on this node`);
    return this.#connections.connect(sandbox.Id, port, signal);
  }

  async stats(ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStats>> {
    const pids = await Promise.all(ids.map(async (id) => [id, await this.#containers.pid(id)] as const));
    return this.#statistics.read(new Map(pids.filter((entry): entry is readonly [string, number] => entry[1] !== undefined)));
  }

  async close(): Promise<void> {
    this.#unlisten();
    this.#connections.close();
    await this.#events.close();
    this.#daemon.close();
  }
}
