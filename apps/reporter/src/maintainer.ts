import { createAhead, retire, rollUp, type ReportPool } from '@roundsman/reports';
import type { Logger } from 'pino';
import type { Settings } from './settings.ts';

const dayMs = 86_400_000;
const aheadDays = 7;

/** Partitions for the days to come, hourly roll-ups, retention. Only one instance does it. */
export class Maintainer {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(private readonly options: { pool: ReportPool; settings: Settings; log: Logger; also: () => void }) {}

  start(): void {
    this.#running = this.#work();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #work(): Promise<void> {
    const { pool, settings, log, also } = this.options;
    try {
      also();
      await createAhead(pool, aheadDays);
      const hours = await rollUp(pool);
      if (hours > 0) log.info({ hours }, 'rolled up');
      const retired = await retire(pool, { retentionMs: settings.retentionDays * dayMs, maxBytes: settings.retentionBytes, rollupRetentionMs: settings.rollupDays * dayMs });
      if (retired.partitions.length > 0 || retired.rounds > 0) log.info(retired, 'removed what is too old or too much');
    } catch (error) {
      log.warn({ err: error }, 'maintenance of the report tables failed; it is tried again');
    }
    if (!this.#stopped) this.#timer = setTimeout(() => (this.#running = this.#work()), settings.maintenanceMs);
  }
}
