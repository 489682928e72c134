import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { RuntimeProblem } from '../../pod-runtime.ts';
import type { Daemon } from '../daemon.ts';
import { sandboxInspected } from '../inspection.ts';
import { Dialer } from './dialer.ts';

/**
 * Connections to ports of pods. Where this process is root on the daemon's machine it enters the pod's network and so reaches what listens on the
 * pod's localhost only, as `kubectl port-forward` does; otherwise it goes to the pod's address, which this machine has a route to.
 */
export class PodConnections {
  readonly #daemon: Daemon;
  readonly #mayEnter: boolean;
  readonly #dialers = new Map<string, Dialer>();

  constructor(daemon: Daemon, mayEnter: boolean = process.getuid?.() === 0) {
    this.#daemon = daemon;
    this.#mayEnter = mayEnter;
  }

  async connect(sandboxId: string, port: number, signal: AbortSignal): Promise<Socket> {
    const inspected = await this.#daemon.ask('NotFound', (docker) => docker.getContainer(sandboxId).inspect());
    const { State, HostConfig } = inspected;
    if (!State.Running) throw new RuntimeProblem('NotFound', 'the pod has ended');
    try {
      const socket = await this.#open(port, {
        sandboxId,
        pid: State.Pid,
        hostNetwork: HostConfig.NetworkMode === 'host',
        address: sandboxInspected(inspected).addresses[0],
      });
      return addAbortSignal(signal, socket);
    } catch (error) {
      throw new RuntimeProblem('Exec', `failed to connect to localhost:${port} inside the pod: ${(error as Error).message}`, { cause: error });
    }
  }

  /** The pod has ended, or is about to. */
  forget(sandboxId: string): void {
    this.#dialers.get(sandboxId)?.close();
  }

  close(): void {
    for (const dialer of this.#dialers.values()) dialer.close();
  }

  async #open(port: number, pod: { readonly sandboxId: string; readonly pid: number; readonly hostNetwork: boolean; readonly address: string | undefined }): Promise<Socket> {
    if (pod.hostNetwork) return direct('localhost', port);
    if (!this.#mayEnter || !(await isSeenHere(pod.pid, pod.sandboxId))) return direct(pod.address ?? 'localhost', port);
    return this.#dialerOf(pod.sandboxId, pod.pid).dial(port);
  }

  /** A sandbox that was started again has another network. */
  #dialerOf(sandboxId: string, pid: number): Dialer {
    const known = this.#dialers.get(sandboxId);
    if (known?.pid === pid) return known;
    known?.close();
    const dialer = new Dialer(pid, (ended) => {
      if (this.#dialers.get(sandboxId) === ended) this.#dialers.delete(sandboxId);
    });
    this.#dialers.set(sandboxId, dialer);
    return dialer;
  }
}

/** Whether the pid means the same process here as for the daemon: the container's id is in the name of its cgroup. */
const isSeenHere = (pid: number, containerId: string): Promise<boolean> =>
  readFile(`/proc/${pid}/cgroup`, 'utf8').then(
    (cgroup) => cgroup.includes(containerId),
    () => false,
  );

async function direct(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}
