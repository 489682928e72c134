import type { MigrationInterface, QueryRunner } from 'typeorm';
import { viewNamed } from './views.ts';

const replaced = ['targets', 'matrix', 'runners', 'findings'];

/** Pods of runners, and interfaces of targets; where targets of other layers live on nodes too, the matrix is of the runners' own addresses. */
const up = `
alter table report.runner_rounds add column pod text;
alter table report.results add column interface text;

create or replace view grafana.targets as
select x.round_start as time, r.kind, r.namespace, r.task, x.task_uid, x.round, x.runner, rr.node, x.target, x.layer, x.address, x.method, x.target_node, x.family,
       x.planned, x.sent, x.unsent, x.succeeded, x.failed, x.bytes, x.ok, x.reason,
       case when x.planned > 0 then x.succeeded::double precision / x.planned end as success_rate,
       x.latency_sum_us / nullif(x.latency_count, 0) / 1000 as mean_ms, case when x.latency_count > 0 then x.latency_min_us / 1000 end as min_ms,
       grafana.lb_quantile(0.50, x.latency_b, x.latency_c, x.latency_min_us, x.latency_max_us) / 1000 as p50_ms,
       grafana.lb_quantile(0.90, x.latency_b, x.latency_c, x.latency_min_us, x.latency_max_us) / 1000 as p90_ms,
       grafana.lb_quantile(0.95, x.latency_b, x.latency_c, x.latency_min_us, x.latency_max_us) / 1000 as p95_ms,
       grafana.lb_quantile(0.99, x.latency_b, x.latency_c, x.latency_min_us, x.latency_max_us) / 1000 as p99_ms,
       case when x.latency_count > 0 then x.latency_max_us / 1000 end as max_ms,
       x.latency_b, x.latency_c, x.errors, x.status_codes, x.reply_codes, x.lag_p99_us / 1000 as send_lag_p99_ms,
       x.phases[2] / nullif(x.phases[1], 0) / 1000 as dns_ms, x.phases[5] / nullif(x.phases[4], 0) / 1000 as connect_ms, x.phases[8] / nullif(x.phases[7], 0) / 1000 as tls_ms,
       x.phases[11] / nullif(x.phases[10], 0) / 1000 as first_byte_ms, x.phases[14] / nullif(x.phases[13], 0) / 1000 as transfer_ms,
       x.interface
from report.results x
join report.rounds r on r.task_uid = x.task_uid and r.round = x.round
left join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner;

create or replace view grafana.matrix as
select r.round_start as time, r.kind, r.namespace, r.task, r.task_uid, r.round, m.from_node, m.to_node, m.targets, m.ok_targets, m.planned, m.succeeded,
       case when m.planned > 0 then m.succeeded::double precision / m.planned end as success_rate, m.mean_us / 1000 as mean_ms,
       q.p50_us / 1000 as p50_ms, q.p99_us / 1000 as p99_ms
from report.rounds r
cross join lateral (
  select rr.node as from_node, x.target_node as to_node, count(*) as targets, count(*) filter (where x.ok) as ok_targets,
         sum(x.planned) as planned, sum(x.succeeded) as succeeded, sum(x.latency_sum_us) / nullif(sum(x.latency_count), 0) as mean_us,
         min(x.latency_min_us) filter (where x.latency_count > 0) as min_us, max(x.latency_max_us) as max_us
  from report.results x
  join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner
  where x.round_start = r.round_start and x.task_uid = r.task_uid and x.round = r.round and x.target_node is not null and x.layer = 'endpoint' and x.interface is null
  group by rr.node, x.target_node
) m
left join lateral (
  select grafana.lb_quantile(0.5, array_agg(s.b order by s.b), array_agg(s.c order by s.b), m.min_us, m.max_us) as p50_us,
         grafana.lb_quantile(0.99, array_agg(s.b order by s.b), array_agg(s.c order by s.b), m.min_us, m.max_us) as p99_us
  from (
    select u.b, sum(u.c)::bigint as c
    from report.results x
    join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner and rr.node = m.from_node,
         lateral unnest(x.latency_b, x.latency_c) u (b, c)
    where x.round_start = r.round_start and x.task_uid = r.task_uid and x.round = r.round and x.target_node = m.to_node and x.layer = 'endpoint' and x.interface is null
    group by u.b
  ) s
) q on true
where r.closed_at is not null;

create or replace view grafana.runners as
select r.round_start as time, r.kind, r.namespace, r.task, r.task_uid, r.round, rr.runner, rr.node, rr.expected, rr.state, rr.reason,
       rr.started_at, rr.ended_at, rr.targets, rr.ok_targets, rr.planned, rr.sent, rr.unsent, rr.succeeded, rr.failed, rr.bytes,
       case when rr.planned > 0 then rr.succeeded::double precision / rr.planned end as success_rate,
       rr.latency_sum_us / nullif(rr.latency_count, 0) / 1000 as mean_ms,
       grafana.lb_quantile(0.50, rr.latency_b, rr.latency_c, rr.latency_min_us, rr.latency_max_us) / 1000 as p50_ms,
       grafana.lb_quantile(0.99, rr.latency_b, rr.latency_c, rr.latency_min_us, rr.latency_max_us) / 1000 as p99_ms,
       rr.lag_p99_us / 1000 as send_lag_p99_ms,
       coalesce((rr.starvation ->> 'suspect')::boolean, false) as suspect,
       (rr.starvation ->> 'loopDelayP99Ms')::double precision as loop_delay_p99_ms,
       (rr.starvation ->> 'cpuShare')::double precision as cpu_share,
       (rr.starvation ->> 'rssBytes')::double precision as rss_bytes,
       rr.pod, rr.not_ready
from report.runner_rounds rr
join report.rounds r on r.task_uid = rr.task_uid and r.round = rr.round
where r.closed_at is not null;

create or replace view grafana.findings as
select r.round_start as time, r.kind, r.namespace, r.task, r.task_uid, r.round, f.position, f.body ->> 'code' as code, f.body ->> 'severity' as severity,
       f.body ->> 'subject' as subject, f.body ->> 'message' as message, f.body -> 'evidence' as evidence,
       f.body ->> 'layer' as layer, f.body ->> 'family' as family
from report.rounds r, lateral json_array_elements(r.verdict_body -> 'findings') with ordinality f (body, position)
where r.closed_at is not null;
`;

/** The statement that makes one of them. */
export const layeredView = (name: string): string => `create or replace view grafana.${name} as${up.split(`create or replace view grafana.${name} as`)[1]!.split(';\n')[0]!};`;

export class ReportLayers1763740800004 implements MigrationInterface {
  readonly name = 'ReportLayers1763740800004';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(up);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view ${replaced.map((name) => `grafana.${name}`).join()}; alter table report.results drop column interface; alter table report.runner_rounds drop column pod;`);
    for (const name of replaced) await runner.query(viewNamed(name));
  }
}
