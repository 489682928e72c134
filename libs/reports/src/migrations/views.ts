import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The contract for Grafana and other readers: tables may change, these names and columns stay. Times are `time`, latencies milliseconds. */
const views = `
create view grafana.rounds as
select r.round_start as time, r.closed_at, r.kind, r.namespace, r.task, r.task_uid, r.round, r.trigger, r.state, r.verdict,
       r.verdict = 'healthy' as healthy, r.verdict_body ->> 'summary' as summary,
       extract(epoch from r.closed_at - r.round_start)::double precision as duration_s,
       r.runners_expected, r.runners_ok, r.runners_failed, r.runners_canceled, r.runners_error, r.runners_missing,
       r.targets, r.ok_targets, r.planned, r.sent, r.unsent, r.succeeded, r.failed, r.bytes,
       case when r.planned > 0 then r.succeeded::double precision / r.planned end as success_rate,
       r.latency_sum_us / nullif(r.latency_count, 0) / 1000 as mean_ms, case when r.latency_count > 0 then r.latency_min_us / 1000 end as min_ms,
       r.p50_us / 1000 as p50_ms, r.p90_us / 1000 as p90_ms, r.p95_us / 1000 as p95_ms, r.p99_us / 1000 as p99_ms, case when r.latency_count > 0 then r.latency_max_us / 1000 end as max_ms,
       r.late_results
from report.rounds r where r.closed_at is not null;

-- The last closed round of every task that has one (by name; a recreated task replaces its predecessor).
create view grafana.reports as
select distinct on (kind, namespace, task) * from grafana.rounds order by kind, namespace, task, time desc, round desc;

create view grafana.latency_percentiles as
select r.round_start as time, r.kind, r.namespace, r.task, r.task_uid, r.round, p.metric, p.us / 1000 as value_ms
from report.rounds r,
     lateral (values ('p50', r.p50_us), ('p90', r.p90_us), ('p95', r.p95_us), ('p99', r.p99_us), ('max', case when r.latency_count > 0 then r.latency_max_us end)) p (metric, us)
where r.closed_at is not null and p.us is not null;

create view grafana.targets as
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
       x.phases[11] / nullif(x.phases[10], 0) / 1000 as first_byte_ms, x.phases[14] / nullif(x.phases[13], 0) / 1000 as transfer_ms
from report.results x
join report.rounds r on r.task_uid = x.task_uid and r.round = x.round
left join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner;

-- One row per non-empty bucket: heat maps, and exact percentiles over any grouping with lb_quantile.
create view grafana.latency_buckets as
select x.round_start as time, r.kind, r.namespace, r.task, x.task_uid, x.round, x.runner, x.target, x.layer, x.target_node,
       u.bucket, u.count, grafana.lb_value(u.bucket) / 1000 as value_ms
from report.results x
join report.rounds r on r.task_uid = x.task_uid and r.round = x.round,
     lateral unnest(x.latency_b, x.latency_c) u (bucket, count);

create view grafana.matrix as
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
  where x.round_start = r.round_start and x.task_uid = r.task_uid and x.round = r.round and x.target_node is not null
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
    where x.round_start = r.round_start and x.task_uid = r.task_uid and x.round = r.round and x.target_node = m.to_node
    group by u.b
  ) s
) q on true
where r.closed_at is not null;

create view grafana.runners as
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
       (rr.starvation ->> 'rssBytes')::double precision as rss_bytes
from report.runner_rounds rr
join report.rounds r on r.task_uid = rr.task_uid and r.round = rr.round
where r.closed_at is not null;

create view grafana.findings as
select r.round_start as time, r.kind, r.namespace, r.task, r.task_uid, r.round, f.position, f.body ->> 'code' as code, f.body ->> 'severity' as severity,
       f.body ->> 'subject' as subject, f.body ->> 'message' as message, f.body -> 'evidence' as evidence
from report.rounds r, lateral json_array_elements(r.verdict_body -> 'findings') with ordinality f (body, position)
where r.closed_at is not null;

create view grafana.failures as
select f.at as time, f.round_start, r.kind, r.namespace, r.task, f.task_uid, f.round, f.runner, f.target, f.code, f.message, f.latency_us / 1000 as latency_ms
from report.failures f
join report.rounds r on r.task_uid = f.task_uid and r.round = f.round;

create view grafana.hourly as
select h.hour as time, h.kind, h.namespace, h.task, h.task_uid, h.runner, h.node, h.target, h.layer, h.target_node, h.rounds, h.ok_rounds,
       h.planned, h.sent, h.unsent, h.succeeded, h.failed, h.bytes,
       case when h.planned > 0 then h.succeeded::double precision / h.planned end as success_rate,
       h.latency_sum_us / nullif(h.latency_count, 0) / 1000 as mean_ms,
       grafana.lb_quantile(0.50, h.latency_b, h.latency_c, h.latency_min_us, h.latency_max_us) / 1000 as p50_ms,
       grafana.lb_quantile(0.99, h.latency_b, h.latency_c, h.latency_min_us, h.latency_max_us) / 1000 as p99_ms,
       case when h.latency_count > 0 then h.latency_max_us / 1000 end as max_ms, h.latency_b, h.latency_c
from report.rollups h;
`;

/** The statement that makes one of them. */
export const viewNamed = (name: string): string => `create view grafana.${name} as${views.split(`create view grafana.${name} as`)[1]!.split(';\n')[0]!};`;

/** A role belongs to the whole server: another database of it may have made it already, or be making it now. */
const role = `
do $$ begin
  if not exists (select from pg_roles where rolname = 'grafana_ro') then
    begin
      create role grafana_ro login nosuperuser nocreatedb nocreaterole connection limit 40;
      alter role grafana_ro set default_transaction_read_only = on;
      alter role grafana_ro set statement_timeout = '15s';
      alter role grafana_ro set idle_in_transaction_session_timeout = '15s';
      alter role grafana_ro set search_path = grafana;
      alter role grafana_ro set jit = off;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then raise warning 'role grafana_ro was not made: % may not create roles; create it, then grant usage on schema grafana and select on its views', current_user;
    end;
  end if;
  if exists (select from pg_roles where rolname = 'grafana_ro') then
    grant usage on schema grafana to grafana_ro;
    grant select on all tables in schema grafana to grafana_ro;
    alter default privileges in schema grafana grant select on tables to grafana_ro;
  end if;
end $$;
`;

export class ReportViews1763708400003 implements MigrationInterface {
  readonly name = 'ReportViews1763708400003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(views);
    await runner.query(role);
  }

  /** The role stays: other databases may use it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop view grafana.hourly, grafana.failures, grafana.findings, grafana.runners, grafana.matrix, grafana.latency_buckets,
      grafana.targets, grafana.latency_percentiles, grafana.reports, grafana.rounds;
      do $$ begin
        if exists (select from pg_roles where rolname = 'grafana_ro') then
          alter default privileges in schema grafana revoke select on tables from grafana_ro;
          revoke usage on schema grafana from grafana_ro;
        end if;
      end $$;`);
  }
}
