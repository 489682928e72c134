import { Gauge, type Registry } from 'prom-client';
import type { Runner } from './runner.ts';

/** Reads the runner's own counts when somebody scrapes; counting costs nothing otherwise. */
export function registerMetrics(registry: Registry, runner: Runner): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    const made: Gauge = new Gauge({ name: `roundsman_probe_runner_${name}`, help, registers: [registry], collect: () => made.set(read()) });
  };
  gauge('rounds_running', 'Rounds that run now', () => runner.admission.running);
  gauge('rounds_waiting', 'Rounds that wait for capacity', () => runner.admission.waiting);
  gauge('load_qps', 'Requests per second of the rounds that run now', () => runner.admission.qps);
  gauge('capacity_qps', 'Requests per second the runner may be asked for', () => runner.admission.capacityQps);
  gauge('rounds_begun_total', 'Rounds begun since the start', () => runner.rounds.counts.begun);
  gauge('round_faults_total', 'Rounds whose thread crashed, ran out of memory or did not stop', () => runner.rounds.counts.faults);
  gauge('work_answered_from_spool_total', 'Work orders whose result was there already', () => runner.rounds.counts.answeredFromSpool);
  gauge('spool_bytes', 'Bytes of results on disk', () => runner.spool.bytes);
  gauge('spool_results', 'Results on disk that are not known to be in Postgres', () => runner.spool.pending);
  gauge('spool_committed_results', 'Results on disk that are in Postgres and kept for a while', () => runner.spool.size - runner.spool.pending);
  gauge('spool_dropped_total', 'Results thrown away because the spool was full', () => runner.spool.dropped);
  gauge('spool_unreadable_total', 'Spooled results that could not be read and were set aside', () => runner.spool.unreadable);
  gauge('result_parts_published_total', 'Result parts that the stream took', () => runner.sender.publishedParts);
  gauge('rounds_committed_total', 'Rounds that the reporter confirmed', () => runner.sender.committedRounds);
  const ended: Gauge<'state'> = new Gauge({
    name: 'roundsman_probe_runner_rounds_ended_total',
    help: 'Rounds that ended, by state',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      for (const [state, count] of Object.entries(runner.rounds.counts.ended)) ended.set({ state }, count);
    },
  });
}
