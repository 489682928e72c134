import type { ContainerRuntime, ContainerSpec, ContainerStatus } from '@roundsman/containers';
import type { Logger } from 'pino';
import type { NodeCondition } from '../machine.ts';

/** A process of its own that the agent keeps running on its node. */
export interface Kept {
  readonly spec: ContainerSpec;
  /** In the log: `default-node-1`. */
  readonly name: string;
  /** In sentences: `the runner`. */
  readonly what: string;
  /** The condition of the node that tells of it: its type, reasons, and what it says while the process runs. */
  readonly condition: { readonly type: string; readonly running: string; readonly ended: string; readonly message: string };
}

/** How long it may take to hand its work back before it is killed, milliseconds. */
const stopGraceMs = 5_000;

export class KeptProcess {
  readonly #kept: Kept;
  readonly #runtime: ContainerRuntime;
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  #status: ContainerStatus | undefined;
  #unwatch: () => void = () => undefined;

  constructor(kept: Kept, runtime: ContainerRuntime, log: Pick<Logger, 'info' | 'warn'>) {
    this.#kept = kept;
    this.#runtime = runtime;
    this.#log = log;
  }

  /** One that an earlier agent left running with the same settings is adopted. */
  async start(): Promise<void> {
    const { spec, name, what } = this.#kept;
    this.#unwatch = this.#runtime.watch((status) => {
      if (status.id === spec.id) this.#changed(status);
    });
    this.#status = await this.#runtime.start(spec);
    const { pid, adopted } = this.#status;
    this.#log.info({ name, pid, adopted }, `${what} ${adopted ? 'was found running' : 'was started'}`);
  }

  /** `ends`: the process ends too; otherwise it goes on, and the next agent adopts it. */
  async stop(ends: boolean): Promise<void> {
    this.#unwatch();
    if (ends) await this.#runtime.stop(this.#kept.spec.id, stopGraceMs);
  }

  get restarts(): number {
    return this.#status?.restarts ?? 0;
  }

  /** What is wrong with it, in words; undefined while it runs. */
  problem(): string | undefined {
    if (this.#status === undefined) return `${this.#kept.what} was not started yet`;
    return this.#status.state === 'running' ? undefined : this.#end(this.#status);
  }

  condition(): NodeCondition {
    const { type, running, ended, message } = this.#kept.condition;
    const problem = this.problem();
    return problem === undefined ? { type, status: 'True', reason: running, message } : { type, status: 'False', reason: ended, message: problem };
  }

  #changed(status: ContainerStatus): void {
    this.#status = status;
    if (status.state !== 'waiting') return;
    const { spec, name } = this.#kept;
    void this.#runtime.logs(spec.id, { tailLines: 5 }).then(
      (output) => this.#log.warn({ name, restarts: status.restarts, restartAt: status.restartAt, output }, this.#end(status)),
      (error: unknown) => this.#log.warn({ err: error }, this.#end(status)),
    );
  }

  #end({ exitCode, signal, problem, restartAt }: ContainerStatus): string {
    const how = problem ?? (signal === undefined ? (exitCode === undefined ? 'ended' : `ended with code ${exitCode}`) : `was ended by ${signal}`);
    return `${this.#kept.what} ${problem === undefined ? how : `cannot be started: ${how}`}${restartAt === undefined ? '' : `; it is started again at ${restartAt}`}`;
  }
}
