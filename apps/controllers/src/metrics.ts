import { Gauge, Histogram, type Registry } from 'prom-client';

export interface Counts {
  readonly depth: number;
  readonly failing: number;
  readonly readyRunners: number;
  readonly runners: number;
}

/** What the controllers tell Prometheus. */
export class ControllersMetrics {
  readonly #looks: Histogram<'loop' | 'ok'>;
  #counts: () => Counts = () => ({ depth: 0, failing: 0, readyRunners: 0, runners: 0 });

  constructor(register: Registry, { leading }: { leading: () => boolean }) {
    const registers = [register];
    this.#looks = new Histogram({ name: 'roundsman_controllers_reconcile_seconds', help: 'Duration of one reconcile', labelNames: ['loop', 'ok'], buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10], registers });
    const gauge = (name: string, help: string, value: () => number): void => {
      void new Gauge({
        name: `roundsman_controllers_${name}`,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    };
    gauge('leading', '1 while this instance leads', () => (leading() ? 1 : 0));
    gauge('queue_depth', 'Keys waiting to be reconciled', () => this.#counts().depth);
    gauge('failing_keys', 'Keys whose last reconcile failed', () => this.#counts().failing);
    gauge('runners', 'Runners known', () => this.#counts().runners);
    gauge('runners_ready', 'Runners that take rounds', () => this.#counts().readyRunners);
  }

  follow(counts: () => Counts): void {
    this.#counts = counts;
  }

  look(loop: string, seconds: number, ok: boolean): void {
    this.#looks.observe({ loop, ok: String(ok) }, seconds);
  }
}
