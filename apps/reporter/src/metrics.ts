import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What the reporter tells Prometheus. */
export class ReporterMetrics {
  readonly rows: Counter;
  readonly results: Counter<'outcome'>;
  readonly batches: Counter<'ok'>;
  readonly commit: Histogram;
  readonly lag: Histogram;
  readonly closed: Counter<'state'>;
  readonly closeLate: Histogram;
  readonly silent: Counter;
  readonly untellable: Counter<'what'>;
  readonly retired: Counter<'what'>;
  readonly bytes: Gauge;

  constructor(
    readonly register: Registry,
    state: { leading: () => boolean; open: () => number; untold: () => number },
  ) {
    const registers = [register];
    this.rows = new Counter({ name: 'roundsman_reporter_rows_total', help: 'Target results written', registers });
    this.results = new Counter({ name: 'roundsman_reporter_results_total', help: 'Result messages by what became of them', labelNames: ['outcome'], registers });
    this.batches = new Counter({ name: 'roundsman_reporter_batches_total', help: 'Transactions tried', labelNames: ['ok'], registers });
    this.commit = new Histogram({ name: 'roundsman_reporter_commit_seconds', help: 'Duration of one batch, encoding to commit', buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5], registers });
    this.lag = new Histogram({ name: 'roundsman_reporter_lag_seconds', help: "From the end of a runner's round to its result in Postgres, by the two machines' clocks", buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600], registers });
    this.closed = new Counter({ name: 'roundsman_reporter_rounds_closed_total', help: 'Rounds closed', labelNames: ['state'], registers });
    this.closeLate = new Histogram({ name: 'roundsman_reporter_close_late_seconds', help: 'Close of rounds with silent runners, after their deadline', buckets: [0.1, 0.25, 0.5, 1, 2, 5, 15, 60], registers });
    this.silent = new Counter({ name: 'roundsman_reporter_missing_total', help: 'Runners recorded as missing or canceled without a word from them', registers });
    this.untellable = new Counter({ name: 'roundsman_reporter_untellable_total', help: 'Closed rounds of which Round object or stream can never be told', labelNames: ['what'], registers });
    this.retired = new Counter({ name: 'roundsman_reporter_retired_total', help: 'Removed by retention: rounds, and bytes on disk', labelNames: ['what'], registers });
    this.bytes = new Gauge({ name: 'roundsman_reporter_results_bytes', help: 'What results and raw failures take on disk', registers });
    const gauge = (name: string, help: string, value: () => number): void => {
      void new Gauge({
        name: `roundsman_reporter_${name}`,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    };
    gauge('leading', '1 while this instance closes rounds', () => (state.leading() ? 1 : 0));
    gauge('open_rounds', 'Rounds that are not closed', state.open);
    gauge('untold_rounds', 'Closed rounds of which Round object or stream could not be told yet', state.untold);
  }
}
