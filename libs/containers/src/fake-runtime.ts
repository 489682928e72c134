import { checkSpec, matches, type ContainerListener, type ContainerRuntime, type ContainerSpec, type ContainerStatus } from './runtime.ts';

/** In memory; runs nothing. For tests of those who use the port: `end` is how a container's program ends. */
export class FakeRuntime implements ContainerRuntime {
  readonly version = 'fake://1';
  readonly specs = new Map<string, ContainerSpec>();
  readonly #statuses = new Map<string, ContainerStatus>();
  readonly #listeners = new Set<ContainerListener>();
  #pids = 1_000;

  async start(spec: ContainerSpec): Promise<ContainerStatus> {
    checkSpec(spec);
    this.specs.set(spec.id, spec);
    return this.#set({ id: spec.id, labels: spec.labels, state: 'running', pid: ++this.#pids, startedAt: new Date().toISOString(), restarts: 0, adopted: false });
  }

  async stop(id: string): Promise<void> {
    const status = this.#statuses.get(id);
    if (status !== undefined && status.state !== 'exited') this.#set({ ...status, state: 'exited' });
  }

  /** Its program ended; the restart policy is not played. */
  end(id: string, exitCode: number, state: 'waiting' | 'exited' = 'waiting'): void {
    const status = this.#statuses.get(id);
    if (status === undefined) throw new Error(`no container ${id}`);
    this.#set({ ...status, state, exitCode });
  }

  async inspect(id: string): Promise<ContainerStatus | undefined> {
    return this.#statuses.get(id);
  }

  async list(labels?: Readonly<Record<string, string>>): Promise<ContainerStatus[]> {
    return [...this.#statuses.values()].filter((status) => matches(status.labels, labels));
  }

  async logs(): Promise<string> {
    return '';
  }

  async remove(id: string): Promise<void> {
    this.#statuses.delete(id);
    this.specs.delete(id);
  }

  watch(listener: ContainerListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async release(): Promise<void> {
    this.#listeners.clear();
  }

  #set(status: ContainerStatus): ContainerStatus {
    this.#statuses.set(status.id, status);
    for (const listener of this.#listeners) listener(status);
    return status;
  }
}
