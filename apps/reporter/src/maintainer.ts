import { createAhead, retire, rollUp, type ReportPool } from '@roundsman/reports';
import type { Logger } from 'pino';
import type { ReporterMetrics } from './metrics.ts';
import type { Settings } from './settings.ts';

const dayMs = 86_400_000;
const aheadDays = 7;

/** Partitions for the days to come, hourly roll-ups, retention. Only one instance does it. */
export class Maintainer {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #tooMuch = false;

  constructor(private readonly options: { pool: ReportPool; settings: Settings; metrics: Pick<ReporterMetrics, 'retired' | 'bytes'>; log: Logger; also: () => void }) {}

  start(): void {
    this.#running = this.#work();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #work(): Promise<void> {
    const { pool, settings, metrics, log, also } = this.options;
    try {
      also();
      await createAhead(pool, aheadDays);
      const hours = await rollUp(pool);
      if (hours > 0) log.info({ hours }, 'rolled up');
      const retired = await retire(pool, { retentionMs: settings.retentionDays * dayMs, maxBytes: settings.retentionBytes, rollupRetentionMs: settings.rollupDays * dayMs });
      metrics.retired.inc({ what: 'rounds' }, retired.rounds);
      metrics.retired.inc({ what: 'bytes' }, retired.bytes);
      metrics.bytes.set(retired.keptBytes);
      if (retired.partitions.length > 0 || retired.rounds > 0) log.info(retired, 'removed what is too old or too much');
      const tooMuch = settings.retentionBytes > 0 && retired.keptBytes > settings.retentionBytes;
      if (tooMuch && !this.#tooMuch) log.warn({ bytes: retired.keptBytes, limit: settings.retentionBytes }, 'results of today alone take more than ROUNDSMAN_REPORTER_RETENTION_BYTES; they are kept until tomorrow');
      this.#tooMuch = tooMuch;
    } catch (error) {
      log.warn({ err: error }, 'maintenance of the report tables failed; it is tried again');
    }
    if (!this.#stopped) this.#timer = setTimeout(() => (this.#running = this.#work()), settings.maintenanceMs);
  }
}
