import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

export type PodOutcome = 'scheduled' | 'unschedulable' | 'error';

/** What is told to Prometheus of pods. */
export class PodMetrics {
  readonly #attempts: Counter<'result'>;
  readonly #decision: Histogram;
  readonly #waited: Histogram;
  readonly #victims: Counter;
  #queue: Pick<SchedulingQueue, 'counts'> | undefined;

  constructor(register: Registry) {
    const registers = [register];
    this.#attempts = new Counter({ name: 'roundsman_scheduler_pod_attempts_total', help: 'Attempts to place a pod', labelNames: ['result'], registers });
    this.#decision = new Histogram({ name: 'roundsman_scheduler_pod_decision_seconds', help: 'Deciding where a pod goes, without writing it', buckets: [0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5], registers });
    this.#waited = new Histogram({ name: 'roundsman_scheduler_pod_bound_after_seconds', help: 'From when a pod was first seen waiting to when it was bound', buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300], registers });
    this.#victims = new Counter({ name: 'roundsman_scheduler_pod_preemption_victims_total', help: 'Pods that were ended to make room for more important ones', registers });
    const queue = (): ReturnType<SchedulingQueue['counts']> | undefined => this.#queue?.counts();
    void new Gauge({
      name: 'roundsman_scheduler_pods_waiting',
      help: 'Pods without a node: ready to be tried, resting after a try, or being tried and bound (out)',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(queue() ?? { ready: 0, resting: 0, out: 0 })) this.set({ state }, count);
      },
    });
  }

  /** Undefined when this instance leads no more. */
  follow(queue: Pick<SchedulingQueue, 'counts'> | undefined): void {
    this.#queue = queue;
  }

  decided(seconds: number): void {
    this.#decision.observe(seconds);
  }

  attempted(result: PodOutcome): void {
    this.#attempts.inc({ result });
  }

  bound(afterSeconds: number): void {
    this.#waited.observe(afterSeconds);
  }

  preempted(victims: number): void {
    this.#victims.inc(victims);
  }
}
