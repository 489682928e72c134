import type { ContainerInfo } from 'dockerode';
import { nodeSandboxUid, RuntimeProblem, type ContainerConfig, type Owner, type PodContainer, type PodOnRuntime } from '../pod-runtime.ts';
import { containerConfig, type SandboxModes } from './container-config.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { podContainer, sandboxListed } from './inspection.ts';
import { containerName, isOwnedBy, ownedBy, readLabels } from './names.ts';

/** The application containers of one owner, and the lists of all that is its. */
export class Containers {
  readonly #daemon: Daemon;
  readonly #owner: Owner;
  /** What inspections said, valid while the list shows the same state: so a list of many pods costs one request. */
  readonly #seen = new Map<string, PodContainer>();

  constructor(daemon: Daemon, owner: Owner) {
    this.#daemon = daemon;
    this.#owner = owner;
  }

  async start(config: ContainerConfig, modes: SandboxModes): Promise<PodContainer> {
    const id = await this.#create(config, modes);
    try {
      await this.#daemon.ask('Start', (docker) => docker.getContainer(id).start(), 0);
    } catch (error) {
      throw this.#daemon.problemOf('Start', error);
    }
    const started = await this.inspect(id);
    if (started === undefined) throw new RuntimeProblem('Start', `container ${config.name} was removed while it was started`);
    return started;
  }

  async #create(config: ContainerConfig, modes: SandboxModes): Promise<string> {
    const name = containerName(config);
    const options = { _query: { name }, _body: containerConfig(this.#owner, config, modes) };
    const create = (): Promise<string> => this.#daemon.ask('Create', async (docker, abortSignal) => (await docker.createContainer({ ...options, abortSignal } as object)).id);
    try {
      return await create().catch(async (error: unknown) => {
        if (statusOf(error) !== 409 || !(await this.#neverStarted(name))) throw error;
        await this.remove(name);
        return create();
      });
    } catch (error) {
      const { message } = error as RuntimeProblem;
      if (statusOf(error) === 404 && message.startsWith('No such image')) throw new RuntimeProblem('ImageNotFound', message, { cause: error });
      throw error;
    }
  }

  /** Left by an agent that ended between making and starting it. */
  async #neverStarted(name: string): Promise<boolean> {
    const container = await this.inspect(name);
    return container?.state === 'created';
  }

  async inspect(id: string): Promise<PodContainer | undefined> {
    try {
      const inspected = await this.#daemon.ask('NotFound', (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }));
      if (!isOwnedBy(inspected.Config.Labels, this.#owner)) return undefined;
      const container = podContainer(inspected);
      if (container.state !== 'created') this.#seen.set(container.id, container);
      return container;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Its process id now, when it runs. */
  async pid(id: string): Promise<number | undefined> {
    return (this.#seen.get(id) ?? (await this.inspect(id)))?.pid;
  }

  async stop(id: string, graceMs: number): Promise<void> {
    // The daemon waits for the end in both.
    await this.#daemon
      .ask('NotFound', (docker) => (graceMs > 0 ? docker.getContainer(id).stop({ t: Math.ceil(graceMs / 1000) }) : docker.getContainer(id).kill({ signal: 'KILL' })), 0)
      .catch((error: unknown) => {
        // 304 and 409: it has ended already.
        if (![304, 404, 409].includes(statusOf(error) ?? 0)) throw error;
      });
  }

  async remove(id: string): Promise<void> {
    await this.#daemon.ask('NotFound', (docker) => docker.getContainer(id).remove({ force: true, v: true }), 0).catch((error: unknown) => {
      // 409: somebody is at it.
      if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
    });
    this.#seen.delete(id);
  }

  /** Something happened to it: what was seen no longer holds. */
  changed(id: string): void {
    this.#seen.delete(id);
  }

  list(podUid?: string): Promise<ContainerInfo[]> {
    return this.#daemon.ask('Unavailable', (docker, abortSignal) => docker.listContainers({ all: true, filters: { label: ownedBy(this.#owner, podUid) }, abortSignal }));
  }

  async pods(): Promise<PodOnRuntime[]> {
    const listed = (await this.list()).filter(({ Labels }) => readLabels(Labels).podUid !== nodeSandboxUid(this.#owner));
    const there = new Set(listed.map(({ Id }) => Id));
    for (const id of this.#seen.keys()) if (!there.has(id)) this.#seen.delete(id);
    const pods = new Map<string, { identity: Pick<PodOnRuntime, 'podUid' | 'namespace' | 'podName'>; sandbox?: ContainerInfo; containers: PodContainer[] }>();
    await Promise.all(
      listed.map(async (info) => {
        const { podUid, namespace, podName, container } = readLabels(info.Labels);
        const pod = pods.get(podUid) ?? { identity: { podUid, namespace, podName }, containers: [] };
        pods.set(podUid, pod);
        if (container === undefined) {
          pod.sandbox = info;
          return;
        }
        const known = this.#seen.get(info.Id);
        const current = known !== undefined && (known.state === 'running') === (info.State === 'running') ? known : await this.inspect(info.Id);
        if (current !== undefined) pod.containers.push(current);
      }),
    );
    return [...pods.values()].map(({ identity, sandbox, containers }) => ({
      ...identity,
      sandbox: sandbox === undefined ? undefined : sandboxListed(sandbox),
      containers: containers.sort((a, b) => a.name.localeCompare(b.name) || b.attempt - a.attempt),
    }));
  }
}
