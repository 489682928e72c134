-- Queries for Grafana's Postgres data source over the views of docs/reports.md; role grafana_ro.
-- libs/reports/src/grafana.spec.ts runs each of them. One statement per panel, macros as Grafana expands them.

-- Latency percentiles of a task (time series)
select time, metric, value_ms from grafana.latency_percentiles
where $__timeFilter(time) and namespace = 'default' and task = 'mesh' order by time, metric;

-- Success rate of every task (time series)
select time, namespace || '/' || task as metric, success_rate from grafana.rounds where $__timeFilter(time) order by time;

-- State of the last round of every task (table)
select namespace, kind, task, round, state, verdict, summary, success_rate, p50_ms, p99_ms, runners_missing, closed_at from grafana.reports order by namespace, kind, task;

-- p99 over all targets in steps, exactly: buckets are added up first (time series)
select t as time, grafana.lb_quantile(0.99, array_agg(bucket order by bucket), array_agg(n order by bucket)) / 1000 as p99_ms
from (select date_bin('5 minutes', time, 'epoch') as t, bucket, sum(count)::bigint as n from grafana.latency_buckets where $__timeFilter(time) and task = 'mesh' group by 1, 2) b
group by t order by t;

-- Heat map of latencies (heat map; value_ms is the bucket)
select time, value_ms, sum(count) as count from grafana.latency_buckets where $__timeFilter(time) and task = 'mesh' group by 1, 2 order by 1, 2;

-- Worst pairs of nodes (table)
select from_node, to_node, min(success_rate) as success_rate, max(p99_ms) as p99_ms from grafana.matrix where $__timeFilter(time) and task = 'mesh' group by 1, 2 order by 3, 4 desc nulls last limit 20;

-- What is broken (table)
select time, namespace, task, code, severity, subject, message from grafana.findings where $__timeFilter(time) order by time desc, position limit 200;

-- Runners that were missing or not to be trusted (table)
select time, task, runner, node, state, reason, suspect, loop_delay_p99_ms from grafana.runners where $__timeFilter(time) and (state = 'missing' or suspect) order by time desc limit 200;

-- Raw failures (table)
select time, task, runner, target, code, message, latency_ms from grafana.failures where $__timeFilter(time) order by time desc limit 500;

-- Requests per hour, for weeks and months (time series)
select time, sum(succeeded) as succeeded, sum(failed) as failed, sum(unsent) as unsent from grafana.hourly where $__timeFilter(time) group by 1 order by 1;
