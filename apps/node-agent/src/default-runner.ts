import { join } from 'node:path';
import type { ContainerRuntime, ContainerSpec, ContainerStatus } from '@roundsman/containers';
import type { ServiceContext } from '@roundsman/service';
import type { NodeCondition } from './machine.ts';
import { runnerNameOf, type Settings } from './settings.ts';

/** How long a runner may take to hand its work back before it is killed, milliseconds. */
const stopGraceMs = 5_000;

/** Keeps the probe-runner of the default runtime running on this node. */
export class DefaultRunner {
  readonly #settings: Settings;
  readonly #runtime: ContainerRuntime;
  readonly #log: ServiceContext<Settings>['log'];
  readonly #id: string;
  #status: ContainerStatus | undefined;
  #unwatch: () => void = () => undefined;

  constructor(settings: Settings, runtime: ContainerRuntime, log: ServiceContext<Settings>['log']) {
    this.#settings = settings;
    this.#runtime = runtime;
    this.#log = log;
    this.#id = 'runner';
  }

  /** A runner that an earlier agent left running with the same settings is adopted. */
  async start(): Promise<void> {
    if (this.#settings.runnerEntry === '') {
      this.#log.info({}, 'no runner is kept here: ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY is not set');
      return;
    }
    this.#unwatch = this.#runtime.watch((status) => {
      if (status.id === this.#id) this.#changed(status);
    });
    this.#status = await this.#runtime.start(runnerSpec(this.#id, this.#settings));
    const { pid, adopted } = this.#status;
    this.#log.info({ runner: runnerNameOf(this.#settings), pid, adopted }, adopted ? 'runner found running' : 'runner started');
  }

  async stop(): Promise<void> {
    this.#unwatch();
    if (this.#settings.stopRunner && this.#settings.runnerEntry !== '') await this.#runtime.stop(this.#id, stopGraceMs);
    await this.#runtime.release();
  }

  get restarts(): number {
    return this.#status?.restarts ?? 0;
  }

  /** What is wrong with the runner, in words; undefined when it runs, or none is kept. */
  problem(): string | undefined {
    if (this.#settings.runnerEntry === '') return undefined;
    if (this.#status === undefined) return 'the runner was not started yet';
    return this.#status.state === 'running' ? undefined : describeEnd(this.#status);
  }

  condition(): NodeCondition | undefined {
    if (this.#settings.runnerEntry === '') return undefined;
    const problem = this.problem();
    return problem === undefined
      ? { type: 'RunnerRunning', status: 'True', reason: 'RunnerIsRunning', message: 'the probe-runner of the default runtime runs' }
      : { type: 'RunnerRunning', status: 'False', reason: 'RunnerEnded', message: problem };
  }

  #changed(status: ContainerStatus): void {
    this.#status = status;
    if (status.state !== 'waiting') return;
    void this.#runtime.logs(this.#id, { tailLines: 5 }).then(
      (output) => this.#log.warn({ runner: runnerNameOf(this.#settings), restarts: status.restarts, restartAt: status.restartAt, output }, describeEnd(status)),
      (error: unknown) => this.#log.warn({ err: error }, describeEnd(status)),
    );
  }
}

function describeEnd({ exitCode, signal, problem, restartAt }: ContainerStatus): string {
  const how = problem ?? (signal === undefined ? (exitCode === undefined ? 'ended' : `ended with code ${exitCode}`) : `was ended by ${signal}`);
  return `the runner ${problem === undefined ? how : `cannot be started: ${how}`}${restartAt === undefined ? '' : `; it is started again at ${restartAt}`}`;
}

/** How the runner's process is started: everything it needs comes in its environment. */
export function runnerSpec(id: string, settings: Settings): ContainerSpec {
  const { node, runtime, natsUrl, natsCaFile, addresses, dataDir, runnerEntry, runnerFlags, runnerSeedFile, runnerLogLevel, runnerCapacityQps, deny, denyEndpoints, allow } = settings;
  const name = runnerNameOf(settings);
  const optional = {
    ROUNDSMAN_NATS_SEED_FILE: runnerSeedFile,
    ROUNDSMAN_NATS_CA_FILE: natsCaFile,
    ROUNDSMAN_RUNNER_CAPACITY_QPS: runnerCapacityQps?.toString(),
    ROUNDSMAN_RUNNER_DENY: deny || undefined,
    ROUNDSMAN_RUNNER_DENY_ENDPOINTS: denyEndpoints || undefined,
    ROUNDSMAN_RUNNER_ALLOW: allow || undefined,
  };
  return {
    id,
    labels: { 'roundsman.io/node': node, 'roundsman.io/runtime': runtime, 'roundsman.io/runner': name },
    command: [process.execPath, ...runnerFlags, runnerEntry],
    env: {
      ROUNDSMAN_NATS_URL: natsUrl,
      ROUNDSMAN_RUNNER_NAME: name,
      ROUNDSMAN_NODE: node,
      ROUNDSMAN_RUNTIME: runtime,
      ROUNDSMAN_DATA_DIR: join(dataDir, 'runner'),
      ROUNDSMAN_BIND_ADDRESSES: addresses.join(','),
      ROUNDSMAN_LOG_LEVEL: runnerLogLevel,
      ...Object.fromEntries(Object.entries(optional).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    },
    restart: { when: 'always' },
  };
}
