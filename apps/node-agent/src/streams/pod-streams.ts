import type { Bus, Pipe, PipeRequest, Subscription } from '@roundsman/bus';
import { ServiceError } from '@roundsman/bus';
import { RuntimeProblem, type PodRuntime } from '@roundsman/containers';
import { carryCommand } from './command.ts';
import { copyDown, put, takeUp } from './copy.ts';
import type { PodsOnNode } from './pods-on-node.ts';
import { loggedOf, podOf, runningOf } from './runs.ts';

type Purpose<Kind extends PipeRequest['purpose']['kind']> = Extract<PipeRequest['purpose'], { kind: Kind }>;
type Carry = (pipe: Pipe) => Promise<void>;

const outputChannel = 1;
const port = { up: 0, down: 1 } as const;

/** Serves exec, attach, logs and forwarded ports of the pods of one node. */
export class PodStreams {
  readonly #bus: Bus;
  readonly #node: string;
  readonly #runtime: PodRuntime;
  readonly #pods: PodsOnNode;
  #served: Subscription | undefined;

  constructor(bus: Bus, node: string, runtime: PodRuntime, pods: PodsOnNode) {
    this.#bus = bus;
    this.#node = node;
    this.#runtime = runtime;
    this.#pods = pods;
  }

  async start(): Promise<void> {
    this.#served = await this.#bus.servePipes(this.#node, (request) => this.#open(request));
  }

  async stop(): Promise<void> {
    await this.#served?.stop();
  }

  /** What can go wrong goes wrong here, before the other side takes the stream for open; what is thrown is for a person. */
  async #open(request: PipeRequest): Promise<Carry> {
    const { purpose } = request;
    const stop = new AbortController();
    try {
      const carry = await this.#carry(request, purpose, stop.signal);
      return async (pipe) => {
        void pipe.closed.then(() => stop.abort());
        await carry(pipe);
      };
    } catch (error) {
      stop.abort();
      if (error instanceof RuntimeProblem) throw new ServiceError(error.code === 'Unavailable' ? 503 : 500, error.message);
      throw error;
    }
  }

  #carry(request: PipeRequest, purpose: PipeRequest['purpose'], signal: AbortSignal): Promise<Carry> {
    const pod = podOf(this.#pods, request);
    switch (purpose.kind) {
      case 'exec':
      case 'attach':
        return this.#command(runningOf(pod, purpose.container).id, purpose, signal);
      case 'logs':
        return this.#logs(loggedOf(pod, purpose.container, purpose.previous).id, purpose, signal);
      case 'port':
        return this.#forward(request.podUid, purpose.port, signal);
    }
  }

  async #command(id: string, purpose: Purpose<'exec'> | Purpose<'attach'>, signal: AbortSignal): Promise<Carry> {
    const { stdin, tty } = purpose;
    const session = purpose.kind === 'exec' ? await this.#runtime.exec(id, { command: purpose.command, stdin, tty }, signal) : await this.#runtime.attach(id, { stdin, tty }, signal);
    return (pipe) => carryCommand(pipe, session, purpose);
  }

  async #logs(id: string, { follow, timestamps, tailLines, sinceMs, limitBytes }: Purpose<'logs'>, signal: AbortSignal): Promise<Carry> {
    const output = await this.#runtime.logs(
      id,
      { follow, timestamps, ...(tailLines === undefined ? {} : { tailLines }), ...(sinceMs === undefined ? {} : { sinceMs }), ...(limitBytes === undefined ? {} : { limitBytes }) },
      signal,
    );
    return (pipe) => copyDown(output, pipe, outputChannel);
  }

  async #forward(podUid: string, number: number, signal: AbortSignal): Promise<Carry> {
    const socket = await this.#runtime.connect(podUid, number, signal);
    return async (pipe) => {
      const saidAll = new Promise<void>((resolve) => {
        const up = takeUp(pipe, async (channel, bytes) => {
          if (channel !== port.up) return;
          if (bytes !== 'end') return put(socket, bytes);
          socket.end();
          resolve();
        });
        void up.then(resolve);
      });
      // What the pod has ended can still be written to.
      await copyDown(socket.iterator({ destroyOnReturn: false }), pipe, port.down);
      await pipe.end(port.down);
      // The other side may still have something to say, which the pod may still hear.
      await saidAll;
    };
  }
}
