import { ApiError } from '@roundsman/api';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Admitted, WriteRequest } from './admission/outcome.ts';
import type { State } from './state.ts';

/** What Prometheus is told about intake. */
export class IntakeMetrics {
  readonly #writes: Counter<'operation' | 'resource' | 'outcome'>;
  readonly #commitSeconds: Histogram;
  readonly #batch: Histogram;
  readonly #leader: Gauge;
  readonly #trimmed: Counter;
  #state: State | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#writes = new Counter({ name: 'roundsman_intake_writes_total', help: 'Writes by what became of them', labelNames: ['operation', 'resource', 'outcome'], registers });
    this.#commitSeconds = new Histogram({
      name: 'roundsman_intake_commit_seconds',
      help: 'Time of one transaction',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    });
    this.#batch = new Histogram({ name: 'roundsman_intake_commit_changes', help: 'Changes in one transaction', buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], registers });
    this.#leader = new Gauge({ name: 'roundsman_intake_leader', help: '1 while this instance admits writes', registers });
    this.#trimmed = new Counter({ name: 'roundsman_intake_changes_trimmed_total', help: 'Changes removed from the history', registers });
    const state = (): State | undefined => this.#state;
    void new Gauge({
      name: 'roundsman_intake_objects',
      help: 'Stored objects',
      labelNames: ['resource'],
      registers,
      collect() {
        this.reset();
        for (const [resource, count] of state()?.counts() ?? []) this.set({ resource }, count);
      },
    });
    void new Gauge({
      name: 'roundsman_intake_version',
      help: 'Version of the last committed change',
      registers,
      collect() {
        this.set(state()?.head ?? 0);
      },
    });
  }

  leading(state: State | undefined): void {
    this.#state = state;
    this.#leader.set(state === undefined ? 0 : 1);
  }

  committed(changes: number, tookMs: number): void {
    this.#batch.observe(changes);
    this.#commitSeconds.observe(tookMs / 1000);
  }

  settled({ operation, resource }: WriteRequest, outcome: Admitted | ApiError): void {
    const refused = outcome instanceof ApiError;
    // What nobody knows as a resource must not become a label.
    const known = refused && outcome.status.reason === 'NotFound' ? 'unknown' : resource;
    this.#writes.inc({ operation, resource: known, outcome: refused ? outcome.status.reason : outcome.type === undefined ? 'unchanged' : 'committed' });
  }

  trimmed(changes: number): void {
    this.#trimmed.inc(changes);
  }
}
