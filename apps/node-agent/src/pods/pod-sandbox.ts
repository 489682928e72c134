import { randomUUID } from 'node:crypto';
import type { Pod } from '@roundsman/api';
import type { Sandbox } from '@roundsman/containers';
import { sandboxSpec } from '../containers/sandbox-spec.ts';
import type { PodFiles } from '../volumes/pod-files.ts';
import { mountFailed, VolumeProblem } from '../volumes/volume-problem.ts';
import type { NodeServices } from './node-services.ts';

/** As often as the kubelet tries again. */
const sandboxRetryMs = 10_000;
const mountRetryMs = { first: 500, longest: 122_000 };

/** The sandbox of one pod: what its containers share. */
export class PodSandbox {
  readonly #services: NodeServices;
  readonly #files: PodFiles;
  #current: Sandbox | undefined;
  #run = '';
  #busy = false;
  #failures = 0;
  #retryAt = 0;

  constructor(services: NodeServices, files: PodFiles) {
    this.#services = services;
    this.#files = files;
  }

  get current(): Sandbox | undefined {
    return this.#current;
  }
  /** Names this start of it: containers carry it, so that it is known what belongs to which. */
  get run(): string {
    return this.#run;
  }
  get busy(): boolean {
    return this.#busy;
  }

  /** It is not tried again before, epoch milliseconds. */
  get retryAt(): number {
    return this.#retryAt;
  }
  retryNow(): void {
    this.#retryAt = 0;
  }

  adopt(found: Sandbox | undefined, run: string | undefined): void {
    this.#current = found;
    this.#run = run || randomUUID();
  }

  /** As a look at the machine shows it; whether that differs. */
  observe(found: Sandbox | undefined): boolean {
    const before = this.#current;
    if (found === undefined) this.ended(before?.id);
    else this.#current = found;
    return before?.id !== this.#current?.id || before?.running !== this.#current?.running;
  }

  /** Whether that was the one that ran. */
  ended(id: string | undefined): boolean {
    if (this.#current === undefined || this.#current.id !== id) return false;
    this.#current = { ...this.#current, running: false };
    return true;
  }

  /** Makes it, with all volumes first (`setUp`). What fails is told, and tried again later. */
  async make(pod: Pod, addresses: () => readonly string[], setUp: () => Promise<void>): Promise<void> {
    const { runtime, slots, events, machineFiles } = this.#services;
    this.#busy = true;
    try {
      await setUp();
      const spec = sandboxSpec(pod, await machineFiles.resolvConf());
      this.#current = await slots.run('sandbox', () => runtime.startSandbox(spec));
      this.#run = randomUUID();
      await this.#files.writeHosts(pod, addresses(), machineFiles.hosts);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const { message } = error as Error;
      if (error instanceof VolumeProblem) {
        events.record(pod, 'Warning', 'FailedMount', mountFailed(error));
        this.#retryAt = Date.now() + Math.min(mountRetryMs.first * 2 ** Math.min(this.#failures - 1, 20), mountRetryMs.longest);
      } else {
        events.record(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${message}`);
        this.#retryAt = Date.now() + sandboxRetryMs;
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Gives back what a pod holds that has ended; its containers stay, for their logs. */
  async end(): Promise<void> {
    if (this.#current === undefined) return;
    const { id } = this.#current;
    this.#busy = true;
    try {
      await this.#services.runtime.stopContainer(id, 0);
      this.ended(id);
    } finally {
      this.#busy = false;
    }
  }
}
