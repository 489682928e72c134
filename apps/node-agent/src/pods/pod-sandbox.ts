import { randomUUID } from 'node:crypto';
import type { Pod } from '@roundsman/api';
import type { Sandbox } from '@roundsman/containers';
import { dnsOf, type DnsWarning } from '../containers/dns.ts';
import { sandboxSpec } from '../containers/sandbox-spec.ts';
import { NetworkNotReady } from '../network/readiness.ts';
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
  /** Which start of which sandbox is connected to the network. */
  #connected: string | undefined;
  #run = '';
  #busy = false;
  /** Whether what is being made fits is to be asked when it is there. */
  #inDoubt = false;
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

  adopt(pod: Pod, found: Sandbox | undefined, run: string | undefined): void {
    const connected = found?.running === true && this.#services.network.fits(pod, found);
    this.#connected = connected ? found.id : undefined;
    this.#current = found === undefined ? undefined : { ...found, running: connected };
    this.#run = run || randomUUID();
  }

  /** As a look at the machine shows it; whether that differs. */
  observe(found: Sandbox | undefined): boolean {
    const before = this.#current;
    if (found === undefined) this.ended(before?.id);
    // One that was made and could not be connected is none yet.
    else if (found.id === this.#connected || !found.running) this.#current = found;
    return before?.id !== this.#current?.id || before?.running !== this.#current?.running;
  }

  /** Whether that was the one that ran. */
  ended(id: string | undefined): boolean {
    if (this.#current === undefined || this.#current.id !== id) return false;
    this.#current = { ...this.#current, running: false };
    this.#connected = undefined;
    return true;
  }

  /** The network of the node is perhaps another one: one that does not fit it is left, as if it had ended. Whether that is so. */
  review(pod: Pod): boolean {
    this.#inDoubt = this.#busy;
    if (this.#busy || this.#current?.running !== true || this.#services.network.fits(pod, this.#current)) return false;
    return this.ended(this.#current.id);
  }

  /** Makes and connects it, with all volumes first (`setUp`). What fails is told, and tried again later. */
  async make(pod: Pod, addresses: () => readonly string[], setUp: () => Promise<void>): Promise<void> {
    const { events } = this.#services;
    this.#busy = true;
    try {
      await setUp();
      this.#current = await this.#connectedTo(pod);
      this.#connected = this.#current.id;
      this.#run = randomUUID();
      for (const { reason, message } of await this.writeFiles(pod, addresses())) events.record(pod, 'Warning', reason, message);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const { message } = error as Error;
      if (error instanceof VolumeProblem) {
        events.record(pod, 'Warning', 'FailedMount', mountFailed(error));
        this.#retryAt = Date.now() + Math.min(mountRetryMs.first * 2 ** Math.min(this.#failures - 1, 20), mountRetryMs.longest);
      } else if (error instanceof NetworkNotReady) {
        // It is told when it is.
        events.record(pod, 'Warning', 'NetworkNotReady', `network is not ready: ${message}`);
        this.#retryAt = Date.now() + sandboxRetryMs;
      } else {
        events.record(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${message}`);
        this.#retryAt = Date.now() + sandboxRetryMs;
      }
    } finally {
      this.#busy = false;
      if (this.#inDoubt) this.review(pod);
    }
  }

  /** The /etc/hosts and /etc/resolv.conf of its containers. Answers what the latter could not be as it was asked for. */
  async writeFiles(pod: Pod, addresses: readonly string[]): Promise<readonly DnsWarning[]> {
    const { machineFiles, network, networkState } = this.#services;
    // They are written when the sandbox is made, and only brought up to date later.
    if (networkState.network === undefined) return [];
    const { text, warnings } = dnsOf(pod, await machineFiles.resolvConf(), { ...networkState.network, lacking: network.lacksClusterDns });
    await this.#files.writeHosts(pod, addresses, machineFiles.hosts, networkState.network.domain);
    await this.#files.writeResolvConf(text);
    return warnings;
  }

  async #connectedTo(pod: Pod): Promise<Sandbox> {
    const { runtime, network, networkState, slots } = this.#services;
    // It waits a moment for what a new agent is not told yet.
    const planned = await network.plan(pod);
    if (networkState.network === undefined) throw new NetworkNotReady('how the network of the cluster is made is not known yet: intake has not answered');
    const spec = sandboxSpec(pod, planned, networkState.network.domain);
    return slots.run('sandbox', async () => {
      const sandbox = await runtime.startSandbox(spec);
      await network.connect(pod, sandbox);
      return sandbox;
    });
  }

  /** Gives back what a pod holds that has ended; its containers stay, for their logs. */
  async end(): Promise<void> {
    if (this.#current === undefined) return;
    const { id, podUid } = this.#current;
    this.#busy = true;
    try {
      await this.#services.runtime.stopContainer(id, 0);
      this.ended(id);
      await this.#services.network.release(podUid);
    } finally {
      this.#busy = false;
    }
  }
}
