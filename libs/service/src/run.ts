import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Bus } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { ServiceDefinition } from './definition.ts';
import { Health } from './health.ts';
import { NestLog } from './log.ts';
import { ProcessMetrics } from './metrics.ts';
import { readSettings } from './settings.ts';
import { whenThere } from './when-there.ts';

/** One service to run, or one of several instances of it (a node-agent per virtual node). */
export interface ServiceRun {
  // oxlint-disable-next-line typescript/no-explicit-any -- definitions of different configurations in one list
  readonly definition: ServiceDefinition<any>;
  /** `node-1`: tells instances of one service apart in log, health and metrics. */
  readonly instance?: string;
  /** NATS identity; the service's name when not given. */
  readonly identity?: string;
  /** Variables laid over the environment for this run only. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly databaseUrl?: string;
  /** Connects under an identity; the connection is closed by `stop`. */
  readonly connect: (identity: string, log: Logger) => Promise<Bus>;
  /** Milliseconds that `stop` waits for all services together. */
  readonly stopWithinMs?: number;
}

export interface RunningServices {
  readonly health: Health;
  readonly metrics: ProcessMetrics;
  /** Stops in reverse order, instances of one service together, then closes the connections. Rejects, naming who hangs, when the time is over. */
  stop(): Promise<void>;
}

interface Started {
  readonly label: string;
  readonly service: string;
  readonly bus: Bus;
  app?: INestApplicationContext;
}

const labelOf = ({ definition, instance }: ServiceRun): string => (instance ? `${definition.name}/${instance}` : definition.name);

/**
 * Starts services in the order given, instances of one service (nodes: none waits for another) together, each with its own settings, NATS identity, log and
 * health. When one cannot start, those before it are stopped and the error names it.
 */
export async function runServices(runs: readonly ServiceRun[], options: RunOptions): Promise<RunningServices> {
  const { env, log } = options;
  // All settings first: a bad one must not leave half a product running.
  const settings = runs.map((run) => readSettings(run.definition.name, run.definition.config, { ...env, ...run.env }));
  for (const { definition } of runs) {
    if (definition.needsDatabase && options.databaseUrl === undefined) throw new Error(`${definition.name} needs a database: set ROUNDSMAN_DATABASE_URL`);
  }
  const health = new Health();
  const metrics = new ProcessMetrics();
  const started: Started[] = [];
  const stop = onceOnly(() => stopAll(started, log, options.stopWithinMs ?? 10_000));
  try {
    await migrate(runs, options);
    const buses = await connectAll(runs, options, started);
    const start = async (run: ServiceRun, index: number): Promise<void> => {
      const label = labelOf(run);
      const bus = buses[index]!;
      const serviceLog = log.child({ service: label });
      health.add({ name: `${label}/bus`, problem: () => busProblem(bus) });
      const scope = run.instance === undefined ? health : health.scoped(run.instance);
      const dynamic = run.definition.module({
        config: settings[index],
        bus,
        databaseUrl: run.definition.needsDatabase ? options.databaseUrl : undefined,
        log: serviceLog,
        metrics: run.instance === undefined ? metrics : metrics.forInstance(run.instance),
        health: scope,
      });
      const begun = performance.now();
      started[index]!.app = await inContext(label, 'start', NestFactory.createApplicationContext(dynamic, { logger: new NestLog(serviceLog), abortOnError: false }));
      serviceLog.debug({ ms: Math.round(performance.now() - begun) }, 'started');
    };
    for (const definition of new Set(runs.map((run) => run.definition))) {
      // Also those beside a failed one are waited for: they have to be stopped.
      const outcomes = await Promise.allSettled(runs.map((run, index) => (run.definition === definition ? start(run, index) : undefined)));
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    }
  } catch (error) {
    await stop().catch((stopError: unknown) => log.error({ err: stopError }, 'stopping after a failed start'));
    throw error;
  }
  return { health, metrics, stop };
}

async function migrate(runs: readonly ServiceRun[], { databaseUrl, log }: RunOptions): Promise<void> {
  const done = new Set<unknown>();
  for (const run of runs) {
    const { migrate: apply } = run.definition;
    if (!apply || databaseUrl === undefined || done.has(apply)) continue;
    done.add(apply);
    await inContext(labelOf(run), 'migrate the database for', whenThere(() => apply(databaseUrl), log.child({ service: labelOf(run) })));
  }
}

async function connectAll(runs: readonly ServiceRun[], { connect, log }: RunOptions, started: Started[]): Promise<Bus[]> {
  const outcomes = await Promise.allSettled(
    runs.map((run) => inContext(labelOf(run), 'connect to NATS for', connect(run.identity ?? run.definition.name, log.child({ service: labelOf(run) })))),
  );
  // Those that did connect are noted even when one failed, so that they are closed.
  for (const [index, outcome] of outcomes.entries()) if (outcome.status === 'fulfilled') started.push({ label: labelOf(runs[index]!), service: runs[index]!.definition.name, bus: outcome.value });
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function stopAll(started: readonly Started[], log: Logger, withinMs: number): Promise<void> {
  const waiting = new Set(started.map(({ label }) => label));
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not stopped within ${withinMs} ms: ${[...waiting].join(', ')}`)), withinMs);
  });
  const stopping = (async () => {
    for (const instances of Map.groupBy(started.toReversed(), ({ service }) => service).values()) {
      await Promise.all(
        instances.map(async ({ label, app }) => {
          // A service that fails to stop must not keep the others running.
          await app?.close().catch((error: unknown) => log.error({ err: error, service: label }, 'stop failed'));
          waiting.delete(label);
        }),
      );
    }
    await Promise.all(
      started.map(async ({ label, bus }) => {
        waiting.add(`the NATS connection of ${label}`);
        await bus.close().catch((error: unknown) => log.error({ err: error, service: label }, 'closing the NATS connection failed'));
        waiting.delete(`the NATS connection of ${label}`);
      }),
    );
  })();
  try {
    await Promise.race([stopping, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function busProblem(bus: Bus): string | undefined {
  const { connected, violations } = bus.health();
  if (!connected) return 'not connected to NATS';
  return violations.length > 0 ? `NATS refused: ${violations.join(', ')}` : undefined;
}

async function inContext<T>(label: string, verb: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`cannot ${verb} ${label}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function onceOnly(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}
