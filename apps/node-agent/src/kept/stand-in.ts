import { nodeNetworkAnnotations } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { NodeCondition } from '../machine.ts';
import type { KeptProcess } from './kept-process.ts';

export interface StandInOptions {
  readonly runner: Pick<KeptProcess, 'start' | 'stop' | 'problem' | 'condition' | 'restarts'>;
  readonly state: Pick<NetworkState, 'network' | 'nodes' | 'onChange'>;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

/** Keeps the runner as a process while the cluster has none in pods: as long as no node says where pods reach NATS. A node that could run such a pod must not have two runners. */
export class StandIn {
  readonly #options: StandInOptions;
  #wanted = false;
  #changing: Promise<void> = Promise.resolve();
  #unlisten: () => void = () => undefined;

  constructor(options: StandInOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#unlisten = this.#options.state.onChange(({ resource }) => {
      if (resource === 'nodes' || resource === 'network') this.#look();
    });
    this.#look();
    return this.#changing;
  }

  /** As KeptProcess. */
  async stop(ends: boolean): Promise<void> {
    this.#unlisten();
    await this.#changing;
    if (this.#wanted) await this.#options.runner.stop(ends);
  }

  get restarts(): number {
    return this.#options.runner.restarts;
  }

  problem(): string | undefined {
    return this.#wanted ? this.#options.runner.problem() : undefined;
  }

  condition(): NodeCondition | undefined {
    return this.#wanted ? this.#options.runner.condition() : undefined;
  }

  #look(): void {
    const { state, runner, log } = this.#options;
    // What is only not known yet decides nothing.
    if (state.network === undefined) return;
    const wanted = !state.nodes().some(({ annotations }) => annotations[nodeNetworkAnnotations.nats] !== undefined);
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    log.info({}, wanted ? 'the cluster has no runners in pods: this node keeps one as a process' : 'the cluster has runners in pods: this node keeps none as a process');
    // One after the other.
    this.#changing = this.#changing.then(() => (wanted ? runner.start() : runner.stop(true))).catch((error: unknown) => log.error({ err: error }, 'the runner could not be started or ended'));
  }
}
