import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkSpec, matches, type ContainerListener, type ContainerRuntime, type ContainerSpec, type ContainerStatus } from '../runtime.ts';
import { ManagedProcess } from './managed-process.ts';

const rotateEveryMs = 10_000;

/**
 * Containers as plain child processes of this machine, for where there is no Docker. Each has a folder under `root` (spec, pidfile,
 * output) and a process group of its own. Two runtimes must not share a root.
 */
export class ProcessRuntime implements ContainerRuntime {
  readonly version = `process://${process.versions.node}`;
  readonly #root: string;
  readonly #processes = new Map<string, ManagedProcess>();
  readonly #listeners = new Set<ContainerListener>();
  readonly #rotation: NodeJS.Timeout;
  #opened: Promise<void> | undefined;

  constructor(root: string) {
    this.#root = resolve(root);
    this.#rotation = setInterval(() => void this.rotate(), rotateEveryMs);
    this.#rotation.unref();
  }

  async start(spec: ContainerSpec): Promise<ContainerStatus> {
    checkSpec(spec);
    await this.#open();
    let managed = this.#processes.get(spec.id);
    if (managed === undefined) {
      managed = this.#manage(spec.id);
      await managed.load();
    }
    await managed.start(spec);
    return managed.status();
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#open();
    await this.#processes.get(id)?.stop(graceMs);
  }

  async inspect(id: string): Promise<ContainerStatus | undefined> {
    await this.#open();
    return this.#processes.get(id)?.status();
  }

  async list(labels?: Readonly<Record<string, string>>): Promise<ContainerStatus[]> {
    await this.#open();
    return [...this.#processes.values()].map((one) => one.status()).filter((status) => matches(status.labels, labels));
  }

  async logs(id: string, { tailLines = 1_000 }: { tailLines?: number } = {}): Promise<string> {
    await this.#open();
    return (await this.#processes.get(id)?.logs(tailLines)) ?? '';
  }

  async remove(id: string): Promise<void> {
    await this.stop(id, 0);
    this.#processes.delete(id);
    await rm(join(this.#root, id), { recursive: true, force: true });
  }

  watch(listener: ContainerListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Brings every output back within its bound; done every 10 s anyway. */
  async rotate(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((one) => one.rotateLog()));
  }

  async release(): Promise<void> {
    clearInterval(this.#rotation);
    await Promise.all([...this.#processes.values()].map((one) => one.release()));
    this.#processes.clear();
    this.#listeners.clear();
  }

  /** Finds what an earlier process left in the root. */
  #open(): Promise<void> {
    return (this.#opened ??= (async () => {
      await mkdir(this.#root, { recursive: true, mode: 0o700 });
      for (const entry of await readdir(this.#root, { withFileTypes: true })) {
        if (entry.isDirectory()) await this.#manage(entry.name).load();
      }
    })());
  }

  #manage(id: string): ManagedProcess {
    const managed = new ManagedProcess(id, join(this.#root, id), (status) => {
      for (const listener of this.#listeners) listener(status);
    });
    this.#processes.set(id, managed);
    return managed;
  }
}
