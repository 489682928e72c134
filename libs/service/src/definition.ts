import type { DynamicModule } from '@nestjs/common';
import type { Bus } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import type { Health } from './health.ts';

/** What every service is given; it reads nothing from the environment itself. */
export interface ServiceContext<Config> {
  readonly config: Config;
  /** Connected under this service's own NATS identity. */
  readonly bus: Bus;
  /** postgres:// URL; present when `needsDatabase`. */
  readonly databaseUrl: string | undefined;
  readonly log: Logger;
  /** Shared by all services of one process; metric names start with `roundsman_<service>_`. */
  readonly metrics: Registry;
  readonly health: Health;
}

/**
 * One service: what an app's index.ts exports under the name `service`. The module starts work in
 * `onApplicationBootstrap` and has stopped it when `onApplicationShutdown` resolves. Composed by apps/roundsman only.
 */
export interface ServiceDefinition<Config = unknown> {
  /** `intake`: also the NATS identity, the word on the command line and the label in health and metrics. */
  readonly name: string;
  /** Settings from environment variables `ROUNDSMAN_<SERVICE>_<KEY>`; strings, coerced and checked once at start. */
  readonly config: z.ZodType<Config>;
  readonly needsDatabase: boolean;
  /** Migrations to run before start, under an advisory lock (store, reports). */
  readonly migrate?: (databaseUrl: string) => Promise<void>;
  readonly module: (context: ServiceContext<Config>) => DynamicModule;
}
