import { addAbortSignal, PassThrough, Readable, type Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import {
  RuntimeProblem,
  type ContainerConfig,
  type ContainerStats,
  type ExecOptions,
  type ExecSession,
  type ImageStatus,
  type LogOptions,
  type PodContainer,
  type PodOnRuntime,
  type PodRuntime,
  type RuntimeEvent,
  type Sandbox,
  type SandboxSpec,
} from './pod-runtime.ts';

/** What a command run in a container does. */
export type FakeCommand = (container: PodContainer, command: readonly string[]) => { readonly exitCode: number; readonly output?: string } | Promise<{ readonly exitCode: number; readonly output?: string }>;

/**
 * In memory; runs nothing. For tests of those who use the port: containers run until the test ends them (`end`), or are stopped; images are there, can
 * be pulled, or cannot. `unavailable` is how the daemon goes away.
 */
export class FakePodRuntime implements PodRuntime {
  readonly version = 'fake://1';
  /** Why the daemon is away; every call but `problem` then throws it. */
  unavailable: string | undefined;
  /** Present images by reference. */
  readonly images = new Map<string, ImageStatus>();
  /** What a pull of a reference does: an image, or why it fails. What is neither here nor present cannot be pulled. */
  readonly registry = new Map<string, ImageStatus | string>();
  /** Images in archives, by file. */
  readonly archives = new Map<string, readonly string[]>();
  /** Those of present images that are builds of many. */
  readonly builds = new Set<string>();
  /** Why a container of this name cannot be started. */
  readonly broken = new Map<string, { readonly code: 'Create' | 'Start'; readonly message: string }>();
  /** What a container of this name does that has ended when whoever started it first looks at it: its exit code. */
  readonly brief = new Map<string, (config: ContainerConfig) => Promise<number>>();
  /** Networks of the daemon's: their ranges by name. */
  readonly networks = new Map<string, readonly string[]>();
  /** Host ports that somebody else holds. */
  readonly takenPorts = new Set<number>();
  /** Of every container, by id, as it was asked for. */
  readonly configs = new Map<string, ContainerConfig>();
  /** By container id. */
  readonly output = new Map<string, string>();
  readonly usage = new Map<string, ContainerStats>();
  /** How exec answers; default: exit code 0. */
  command: FakeCommand = () => ({ exitCode: 0 });
  /** What `connect` gives; default: an echo. */
  connection: (podUid: string, port: number) => Duplex = () => new PassThrough();
  /** What was asked for, in order: `start web/main 0`. */
  readonly calls: string[] = [];
  readonly #sandboxes = new Map<string, { spec: SandboxSpec; sandbox: Sandbox }>();
  readonly #containers = new Map<string, PodContainer>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  #ids = 0;

  constructor(images: readonly string[] = ['busybox:1.35']) {
    for (const reference of images) this.images.set(reference, fakeImage(reference));
  }

  async problem(): Promise<string | undefined> {
    return this.unavailable;
  }

  async image(reference: string): Promise<ImageStatus | undefined> {
    this.#check();
    return this.images.get(reference);
  }

  async pull(reference: string): Promise<ImageStatus> {
    this.#check();
    this.calls.push(`pull ${reference}`);
    const answer = this.registry.get(reference) ?? `pull access denied for ${reference}, repository does not exist or may require 'docker login'`;
    if (typeof answer === 'string') throw new RuntimeProblem('ImagePull', answer);
    this.images.set(reference, answer);
    return answer;
  }

  async loadImages(archive: string): Promise<void> {
    this.#check();
    this.calls.push(`load ${archive}`);
    const references = this.archives.get(archive);
    if (references === undefined) throw new RuntimeProblem('ImageLoad', `${archive}: no such file`);
    for (const reference of references) this.images.set(reference, fakeImage(references[0] ?? reference));
  }

  async removeOldBuilds(kept: readonly string[]): Promise<string[]> {
    this.#check();
    return [...this.builds].filter((reference) => !kept.includes(reference) && this.images.delete(reference));
  }

  async startSandbox(spec: SandboxSpec): Promise<Sandbox> {
    this.#check();
    const before = this.#sandboxes.get(spec.podUid);
    const existing = isDeepStrictEqual(before?.spec.network, spec.network) ? before?.sandbox : undefined;
    if (existing?.running === true) return existing;
    this.calls.push(`sandbox ${spec.podName}`);
    const taken = spec.ports.find(({ hostPort }) => this.takenPorts.has(hostPort));
    if (taken !== undefined) throw new RuntimeProblem('PortInUse', `host port ${taken.hostPort}/${taken.protocol} is already in use on this node`);
    const number = (this.#ids += 1);
    const sandbox: Sandbox = existing === undefined
      ? { id: `sandbox-${number}`, podUid: spec.podUid, running: true, createdAt: now(), pid: 100_000 + number, network: spec.network, addresses: 'addresses' in spec.network ? spec.network.addresses : [] }
      : { ...existing, running: true, pid: 100_000 + number };
    this.#sandboxes.set(spec.podUid, { spec, sandbox });
    this.#tell({ podUid: spec.podUid, container: undefined, id: sandbox.id, type: 'started' });
    return sandbox;
  }

  async sandbox(podUid: string): Promise<Sandbox | undefined> {
    this.#check();
    return this.#sandboxes.get(podUid)?.sandbox;
  }

  async ensureNetwork(name: string, ranges: readonly string[]): Promise<void> {
    this.#check();
    this.networks.set(name, ranges);
  }

  async removeNetwork(name: string): Promise<void> {
    this.#check();
    this.networks.delete(name);
  }

  async removePod(podUid: string): Promise<void> {
    this.#check();
    const found = this.#sandboxes.get(podUid);
    this.calls.push(`remove ${found?.spec.podName ?? podUid}`);
    for (const container of this.#containers.values()) if (container.podUid === podUid) await this.removeContainer(container.id);
    this.#sandboxes.delete(podUid);
    if (found !== undefined) this.#tell({ podUid, container: undefined, id: found.sandbox.id, type: 'removed' });
  }

  async startContainer(config: ContainerConfig): Promise<PodContainer> {
    this.#check();
    const { podUid, podName, name, attempt, image, annotations } = config;
    this.calls.push(`start ${podName}/${name} ${attempt}`);
    const present = this.images.get(image);
    if (present === undefined) throw new RuntimeProblem('ImageNotFound', `No such image: ${image}`);
    if (this.#sandboxes.get(podUid)?.sandbox.running !== true) throw new RuntimeProblem('Create', `No such container: ${config.sandboxId}`);
    const broken = this.broken.get(name);
    if (broken?.code === 'Create') throw new RuntimeProblem('Create', broken.message);
    const id = `container-${(this.#ids += 1)}`;
    const made: PodContainer = { id, podUid, name, attempt, state: 'created', image, imageId: present.id, createdAt: now(), oomKilled: false, annotations };
    this.configs.set(id, config);
    if (broken !== undefined) {
      this.#containers.set(id, { ...made, state: 'exited', finishedAt: now(), exitCode: 127, problem: broken.message });
      throw new RuntimeProblem('Start', broken.message);
    }
    const running: PodContainer = { ...made, state: 'running', pid: 1000 + this.#ids, startedAt: now() };
    this.#containers.set(id, running);
    this.#tell({ podUid, container: name, id, type: 'started' });
    const brief = this.brief.get(name);
    if (brief !== undefined) this.end(id, await brief(config));
    return this.#containers.get(id) ?? running;
  }

  /** Its program ends by itself. */
  end(id: string, exitCode: number, { oomKilled = false }: { readonly oomKilled?: boolean } = {}): void {
    const container = this.#containers.get(id);
    if (container === undefined) throw new Error(`no container ${id}`);
    if (container.state !== 'running') return;
    const { pid: _, ...rest } = container;
    this.#containers.set(id, { ...rest, state: 'exited', finishedAt: now(), exitCode, oomKilled });
    if (oomKilled) this.#tell({ podUid: container.podUid, container: container.name, id, type: 'oom' });
    this.#tell({ podUid: container.podUid, container: container.name, id, type: 'ended' });
  }

  /** That it was killed for its memory is told after its end, as by a busy daemon. */
  tellOom(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) throw new Error(`no container ${id}`);
    this.#containers.set(id, { ...container, oomKilled: true });
    this.#tell({ podUid: container.podUid, container: container.name, id, type: 'oom' });
  }

  /** The sandbox ends; the containers in it go on, as they do with Docker. */
  endSandbox(podUid: string): void {
    const found = this.#sandboxes.get(podUid);
    if (found === undefined) throw new Error(`no sandbox of pod ${podUid}`);
    const { pid: _, ...rest } = found.sandbox;
    const ended = { ...rest, running: false };
    this.#sandboxes.set(podUid, { ...found, sandbox: ended });
    this.#tell({ podUid, container: undefined, id: found.sandbox.id, type: 'ended' });
  }

  /** The newest run of a container. */
  container(podUid: string, name: string): PodContainer | undefined {
    return [...this.#containers.values()].filter((one) => one.podUid === podUid && one.name === name).sort((a, b) => b.attempt - a.attempt)[0];
  }

  sandboxSpec(podUid: string): SandboxSpec | undefined {
    return this.#sandboxes.get(podUid)?.spec;
  }

  async stopContainer(id: string, graceMs: number): Promise<void> {
    this.#check();
    const container = this.#containers.get(id);
    this.calls.push(`stop ${container?.name ?? id} ${graceMs}`);
    if (container !== undefined) this.end(id, graceMs > 0 ? 143 : 137);
  }

  async removeContainer(id: string): Promise<void> {
    this.#check();
    const container = this.#containers.get(id);
    if (container === undefined) return;
    if (container.state === 'running') this.end(id, 137);
    this.#containers.delete(id);
    this.#tell({ podUid: container.podUid, container: container.name, id, type: 'removed' });
  }

  async inspect(id: string): Promise<PodContainer | undefined> {
    this.#check();
    return this.#containers.get(id);
  }

  async pods(): Promise<PodOnRuntime[]> {
    this.#check();
    const all = [...this.#containers.values()].sort((a, b) => a.name.localeCompare(b.name) || b.attempt - a.attempt);
    return [...this.#sandboxes.values()].filter(({ spec }) => !spec.podUid.startsWith('node.')).map(({ spec: { podUid, namespace, podName }, sandbox }) => ({ podUid, namespace, podName, sandbox, containers: all.filter((one) => one.podUid === podUid) }));
  }

  watch(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async logs(id: string, { tailLines, limitBytes }: LogOptions): Promise<Readable> {
    this.#check();
    const lines = (this.output.get(id) ?? '').split(/(?<=\n)/);
    const text = (tailLines === undefined ? lines : lines.slice(Math.max(0, lines.length - tailLines))).join('');
    return Readable.from([Buffer.from(text).subarray(0, limitBytes)]);
  }

  async exec(id: string, { command, stdin }: ExecOptions): Promise<ExecSession> {
    this.#check();
    const container = this.#containers.get(id);
    if (container?.state !== 'running') throw new RuntimeProblem('Exec', `container ${id} is not running`);
    this.calls.push(`exec ${container.name} ${command.join(' ')}`);
    const { exitCode, output = '' } = await this.command(container, command);
    return { stdin: stdin ? new PassThrough().resume() : undefined, stdout: Readable.from([Buffer.from(output)]), stderr: Readable.from([]), resize: async () => undefined, exitCode: Promise.resolve(exitCode) };
  }

  async attach(id: string, options: Omit<ExecOptions, 'command'>): Promise<ExecSession> {
    this.#check();
    const output = Buffer.from(this.output.get(id) ?? '');
    return { stdin: options.stdin ? new PassThrough().resume() : undefined, stdout: Readable.from([output]), stderr: Readable.from([]), resize: async () => undefined, exitCode: Promise.resolve(undefined) };
  }

  async connect(podUid: string, port: number, signal: AbortSignal): Promise<Duplex> {
    this.#check();
    return addAbortSignal(signal, this.connection(podUid, port));
  }

  async stats(ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStats>> {
    this.#check();
    return new Map(ids.flatMap((id) => (this.usage.has(id) ? [[id, this.usage.get(id) as ContainerStats]] : [])));
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  #check(): void {
    if (this.unavailable !== undefined) throw new RuntimeProblem('Unavailable', this.unavailable);
  }

  #tell(event: RuntimeEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

const now = (): string => new Date().toISOString();

export const fakeImage = (reference: string, user = ''): ImageStatus => ({ id: `sha256:${reference}`, digest: `${reference}@sha256:${reference}`, user, bytes: 1 });
