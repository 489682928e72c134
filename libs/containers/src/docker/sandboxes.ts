import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { RuntimeProblem, type Owner, type Sandbox, type SandboxSpec } from '../pod-runtime.ts';
import type { SandboxModes } from './container-config.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { sandboxInspected } from './inspection.ts';
import { isOwnedBy, isSandbox, networkOf, ownedBy, sandboxName, sharesProcesses } from './names.ts';
import { pauseArchive } from './pause/pause-image.ts';
import { sandboxConfig, sandboxProblem } from './sandbox-config.ts';

/** The pause containers of one owner. */
export class Sandboxes {
  readonly #daemon: Daemon;
  readonly #owner: Owner;
  /** By sandbox id, so that the start of a container needs no look at its sandbox. */
  readonly #modes = new Map<string, SandboxModes>();
  #loading: Promise<void> | undefined;

  constructor(daemon: Daemon, owner: Owner) {
    this.#daemon = daemon;
    this.#owner = owner;
  }

  async start(spec: SandboxSpec): Promise<Sandbox> {
    const id = await this.#create(spec);
    const sandbox = id === undefined ? await this.#startExisting(spec) : await this.#run(id, spec);
    const { hostPID, hostIPC, shareProcessNamespace } = spec;
    this.#modes.set(sandbox.id, { hostPID, hostIPC, shareProcessNamespace });
    return sandbox;
  }

  async of(podUid: string): Promise<Sandbox | undefined> {
    const listed = await this.#daemon.ask('Unavailable', (docker, abortSignal) => docker.listContainers({ all: true, filters: { label: [...ownedBy(this.#owner, podUid), isSandbox] }, abortSignal }));
    const [found] = listed;
    if (found === undefined) return undefined;
    return this.#daemon.ask('NotFound', (docker, abortSignal) => docker.getContainer(found.Id).inspect({ abortSignal })).then(sandboxInspected, (error: unknown) => {
      if (statusOf(error) !== 404) throw error;
      return undefined;
    });
  }

  async modesOf(sandboxId: string): Promise<SandboxModes> {
    const known = this.#modes.get(sandboxId);
    if (known !== undefined) return known;
    const { HostConfig, Config } = await this.#daemon.ask('Sandbox', (docker, abortSignal) => docker.getContainer(sandboxId).inspect({ abortSignal }));
    const modes = { hostPID: HostConfig.PidMode === 'host', hostIPC: HostConfig.IpcMode === 'host', shareProcessNamespace: sharesProcesses(Config.Labels) };
    this.#modes.set(sandboxId, modes);
    return modes;
  }

  forget(sandboxId: string): void {
    this.#modes.delete(sandboxId);
  }

  /** Its id; undefined when the pod has one already: its name is taken. */
  async #create(spec: SandboxSpec): Promise<string | undefined> {
    const options = { _query: { name: sandboxName(spec) }, _body: sandboxConfig(this.#owner, spec) };
    const create = (): Promise<string> => this.#daemon.ask('Sandbox', async (docker, abortSignal) => (await docker.createContainer({ ...options, abortSignal } as object)).id);
    try {
      return await create().catch(async (error: unknown) => {
        if (statusOf(error) !== 404) throw error;
        await this.#loadPauseImage();
        return create();
      });
    } catch (error) {
      if (statusOf(error) === 409) return undefined;
      throw error;
    }
  }

  /** One that did not start is taken away: it would hold its name and, perhaps, ports. */
  async #run(id: string, spec: SandboxSpec): Promise<Sandbox> {
    try {
      // 304: it runs already.
      await this.#daemon.ask('Sandbox', (docker) => docker.getContainer(id).start(), 0).catch((error: unknown) => {
        if (statusOf(error) !== 304) throw error;
      });
    } catch (error) {
      const problem = sandboxProblem(error as RuntimeProblem, spec);
      if (problem.code !== 'Unavailable') await this.#remove(id);
      throw problem;
    }
    return sandboxInspected(await this.#daemon.ask('Sandbox', (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal })));
  }

  async #startExisting(spec: SandboxSpec): Promise<Sandbox> {
    const name = sandboxName(spec);
    const inspected = await this.#daemon.ask('Sandbox', (docker, abortSignal) => docker.getContainer(name).inspect({ abortSignal }));
    if (!isOwnedBy(inspected.Config.Labels, this.#owner)) throw new RuntimeProblem('Sandbox', `the container ${name} belongs to another node or cluster on this Docker daemon`);
    if (!isDeepStrictEqual(networkOf(inspected.Config.Labels), spec.network)) await this.#remove(inspected.Id);
    else if (inspected.State.Running) return sandboxInspected(inspected);
    else {
      try {
        return await this.#run(inspected.Id, spec);
      } catch (error) {
        if ((error as RuntimeProblem).code !== 'Sandbox') throw error;
      }
    }
    // On another network, or what it left on the machine may be the reason: a new one gets new files and a new network.
    const id = await this.#create(spec);
    if (id === undefined) throw new RuntimeProblem('Sandbox', `the container ${name} can neither be started nor made anew`);
    return this.#run(id, spec);
  }

  async #remove(id: string): Promise<void> {
    await this.#daemon.ask('Sandbox', (docker) => docker.getContainer(id).remove({ force: true, v: true }), 0).catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error;
    });
  }

  /** Once for all that find it missing at the same time. */
  #loadPauseImage(): Promise<void> {
    this.#loading ??= (async () => {
      const archive = await pauseArchive();
      const said = await this.#daemon.ask('Sandbox', async (docker) => text(await docker.loadImage(Readable.from([archive]), { quiet: true })));
      if (said.includes('"error"')) throw new RuntimeProblem('Sandbox', `the image of pod sandboxes could not be loaded: ${said.trim()}`);
    })().finally(() => (this.#loading = undefined));
    return this.#loading;
  }
}
