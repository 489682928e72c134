import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

interface Loops {
  readonly depth: number;
  readonly failing: number;
  readonly open: number;
}

/** What is told to Prometheus of rounds. */
export class RoundMetrics {
  readonly #rounds: Counter<'trigger'>;
  readonly #late: Histogram;
  readonly #sent: Histogram;
  readonly #looks: Histogram<'loop' | 'ok'>;
  #loops: () => Loops = () => ({ depth: 0, failing: 0, open: 0 });

  constructor(register: Registry) {
    const registers = [register];
    const lateBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300];
    this.#rounds = new Counter({ name: 'roundsman_scheduler_rounds_total', help: 'Rounds made', labelNames: ['trigger'], registers });
    this.#late = new Histogram({ name: 'roundsman_scheduler_round_made_late_seconds', help: 'Making of a round after its start; 0 when made in time', buckets: lateBuckets, registers });
    this.#sent = new Histogram({ name: 'roundsman_scheduler_work_late_seconds', help: 'Work of a round in the stream, after its start; 0 when it was there in time', buckets: lateBuckets, registers });
    this.#looks = new Histogram({ name: 'roundsman_scheduler_reconcile_seconds', help: 'Duration of one reconcile', labelNames: ['loop', 'ok'], buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10], registers });
    const gauge = (name: string, help: string, value: () => number): void => {
      void new Gauge({
        name: `roundsman_scheduler_${name}`,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    };
    gauge('queue_depth', 'Keys waiting to be reconciled', () => this.#loops().depth);
    gauge('failing_keys', 'Keys whose last reconcile failed', () => this.#loops().failing);
    gauge('open_rounds', 'Rounds that are not closed', () => this.#loops().open);
  }

  follow(loops: () => Loops): void {
    this.#loops = loops;
  }

  round(trigger: string, lateSeconds: number): void {
    this.#rounds.inc({ trigger });
    if (trigger === 'schedule') this.#late.observe(lateSeconds);
  }

  sent(lateSeconds: number): void {
    this.#sent.observe(lateSeconds);
  }

  look(loop: string, seconds: number, ok: boolean): void {
    this.#looks.observe({ loop, ok: String(ok) }, seconds);
  }
}
