import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Pod } from '@roundsman/api';
import { endpoint, messages, ServiceError, type Bus, type Pipe, type PipeRequest, type Subscription } from '@roundsman/bus';

/** The agent of a node without containers: programs run on this machine, ports are this machine's, output is what the test says. */
export class FakeAgent {
  readonly asked: PipeRequest[] = [];
  /** Terminal sizes that came, of all streams. */
  readonly sizes: { Width: number; Height: number }[] = [];
  /** How each stream ended here. */
  readonly endings: unknown[] = [];
  /** Streams that have not ended yet. */
  open = 0;
  /** Output by `pod/container`. */
  readonly logs = new Map<string, AsyncIterable<string> | Iterable<string>>();
  readonly refusals = new Map<string, ServiceError>();
  #subscriptions: Subscription[] = [];

  constructor(
    readonly node: string,
    readonly bus: Bus,
    /** Where programs run. */
    readonly folder: string,
  ) {}

  async start(): Promise<void> {
    this.#subscriptions = [
      await this.bus.servePipes(this.node, (request) => this.#open(request)),
      await this.bus.serve({ name: 'agent', version: '1.0.0', description: 'Stands in for a node' }, [
        endpoint(messages.nodeStats, () => this.#stats(), { node: this.node }),
      ]),
    ];
  }

  readonly usage: { namespace: string; name: string; uid: string; containers: { name: string; cpuNanoCores: number; memoryBytes: number }[] }[] = [];

  async stop(): Promise<void> {
    await Promise.all(this.#subscriptions.map((subscription) => subscription.stop()));
  }

  /** Tells intake that all containers of a pod run. */
  async running(pod: Pod): Promise<void> {
    const { namespace = '', name, uid } = pod.metadata;
    const startedAt = new Date().toISOString().replace(/\.\d+/, '');
    const containerStatuses = pod.spec.containers.map((one) => ({ name: one.name, ready: true, started: true, restartCount: 0, image: one.image ?? '', imageID: 'x', state: { running: { startedAt } } }));
    const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({ type, status: 'True', lastTransitionTime: startedAt }));
    await this.bus.request(messages.nodeWrite, { node: this.node }, { operation: 'podStatus', namespace, name, uid, status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], startTime: startedAt, conditions, containerStatuses } });
  }

  #stats(): { at: string; windowSeconds: number; node: { cpuNanoCores: number; memoryBytes: number }; pods: FakeAgent['usage'] } {
    return { at: new Date().toISOString(), windowSeconds: 10, node: { cpuNanoCores: 250_000_000, memoryBytes: 512 << 20 }, pods: this.usage };
  }

  #open(request: PipeRequest): Promise<(pipe: Pipe) => Promise<void>> {
    this.asked.push(request);
    const refusal = this.refusals.get(request.pod);
    if (refusal) return Promise.reject(refusal);
    return Promise.resolve(async (pipe) => {
      this.open += 1;
      void pipe.closed.then((ending) => {
        this.open -= 1;
        this.endings.push(ending);
      });
      const { purpose } = request;
      if (purpose.kind === 'logs') {
        for await (const line of this.logs.get(`${request.pod}/${purpose.container}`) ?? []) await pipe.write(1, Buffer.from(line));
      } else if (purpose.kind === 'port') await this.#forward(pipe, purpose.port);
      else await this.#run(pipe, purpose.kind === 'exec' ? purpose.command : ['cat']);
    });
  }

  async #forward(pipe: Pipe, port: number): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    void pipe.closed.then(() => socket.destroy());
    const up = (async () => {
      for await (const item of pipe.incoming) {
        if ('end' in item) socket.end();
        else if (!socket.write(item.bytes)) await once(socket, 'drain');
      }
    })();
    for await (const chunk of socket) await pipe.write(1, chunk as Buffer);
    await pipe.end(1);
    // What still comes up is taken until the client is done, too.
    await up;
  }

  async #run(pipe: Pipe, [command = '', ...args]: readonly string[]): Promise<void> {
    const child = spawn(command, args, { cwd: this.folder, stdio: 'pipe' });
    const ended = new Promise<number>((resolve, reject) => child.once('close', (code) => resolve(code ?? 137)).once('error', reject));
    ended.catch(() => undefined);
    void pipe.closed.then(() => child.kill('SIGKILL'));
    child.stdin.on('error', () => undefined);
    const up = async (): Promise<void> => {
      for await (const item of pipe.incoming) {
        if (item.channel === 4 && 'bytes' in item) this.sizes.push(JSON.parse(Buffer.from(item.bytes).toString()) as { Width: number; Height: number });
        else if ('end' in item) child.stdin.end();
        else if (!child.stdin.write(item.bytes)) await once(child.stdin, 'drain').catch(() => undefined);
      }
    };
    void up().catch(() => undefined);
    const down = async (channel: number, stream: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of stream) await pipe.write(channel, chunk);
      await pipe.end(channel);
    };
    await Promise.all([down(1, child.stdout), down(2, child.stderr)]).catch(() => undefined);
    await pipe.close({ exitCode: await ended });
  }
}
