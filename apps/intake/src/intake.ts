import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { compilePolicy } from '@roundsman/api';
import { SettingsError, type ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore, type Leadership, type Store } from '@roundsman/store';
import { Term } from './leader.ts';
import { IntakeMetrics } from './metrics.ts';
import { limitsOf, policySettingsOf, type IntakeSettings } from './settings.ts';

const notStarted = 'not started';

/** Takes terms as leader as long as it runs; between them it waits as a standby. */
export class Intake implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<IntakeSettings>;
  readonly #store: Store;
  readonly #stopping = new AbortController();
  #problem: string | undefined = notStarted;
  #running: Promise<void> = Promise.resolve();
  readonly #ledOnce = Promise.withResolvers<void>();

  constructor(context: ServiceContext<IntakeSettings>) {
    this.#context = context;
    const { databaseUrl, log, health } = context;
    if (databaseUrl === undefined) throw new Error('intake needs a database');
    this.#store = openStore(databaseUrl, { name: 'intake', connections: 2, onProblem: (error) => log.warn({ err: error }, 'a database connection was lost') });
    health.add({ name: 'intake/database', problem: () => this.#problem });
  }

  /** Returns when it leads, or is known to stand by; a database that is down does not stop the start. */
  async onApplicationBootstrap(): Promise<void> {
    const { config, databaseUrl, bus, log, metrics } = this.#context;
    const ports = {
      bus,
      log,
      store: this.#store,
      metrics: new IntakeMetrics(metrics),
      limits: limitsOf(config),
      policy: compilePolicy(policySettingsOf(config)),
      network: config,
      keep: { changes: config.keepChanges, ageMs: config.keepChangesMinutes * 60_000 },
    };
    this.#running = this.#run(databaseUrl!, ports);
    await this.#ledOnce.promise;
  }

  async #run(databaseUrl: string, ports: Parameters<typeof Term.begin>[1]): Promise<void> {
    const { log } = this.#context;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let leadership: Leadership;
      try {
        leadership = await acquireLeadership(databaseUrl, 'intake', signal, {
          onProblem: (error) => this.#note(`Postgres: ${error.message}`),
          onStandby: () => this.#note(undefined),
        });
      } catch {
        return; // Only an abort ends the waiting.
      }
      try {
        const term = await Term.begin(leadership, ports);
        this.#note(undefined);
        const stopped = new Promise<string>((resolve) => {
          if (signal.aborted) resolve('stopping');
          signal.addEventListener('abort', () => resolve('stopping'), { once: true });
        });
        const why = await Promise.race([term.over, stopped]);
        if (!signal.aborted) this.#note(why);
        log.info({ why }, signal.aborted ? 'stopping' : 'no longer leading');
        await term.end();
      } catch (error) {
        await leadership.release();
        // At the start whoever set it is there to read it; later another one may lead.
        if (error instanceof SettingsError && this.#problem === notStarted) {
          await this.#store.close();
          this.#ledOnce.reject(error);
          return;
        }
        this.#note(`cannot lead: ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  #note(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) this.#context.log.warn({ problem }, 'not admitting writes');
    this.#problem = problem;
    this.#ledOnce.resolve();
  }

  async onApplicationShutdown(): Promise<void> {
    this.#stopping.abort(new Error('stopping'));
    await this.#running;
    await this.#store.close();
    this.#context.health.remove('intake/database');
  }
}
