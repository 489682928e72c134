import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns of one measured distribution: exact count, sum, minimum, maximum in microseconds, and the log-bucket histogram. */
const distribution = (name: string): string =>
  `${name}_count integer, ${name}_sum_us double precision, ${name}_min_us double precision, ${name}_max_us double precision,
   ${name}_b smallint[], ${name}_c integer[]`;
const sums = (name: string): string =>
  `${name}_count bigint, ${name}_sum_us double precision, ${name}_min_us double precision, ${name}_max_us double precision,
   ${name}_b smallint[], ${name}_c bigint[]`;

const up = `
create schema if not exists report;
create schema if not exists grafana;

-- One row per round of a task, made when its Round object or its first result is seen, closed once.
create table report.rounds (
  task_uid text collate "C" not null,
  round integer not null,
  kind text not null,
  namespace text not null,
  task text not null,
  name text collate "C" not null,
  round_start timestamptz not null,
  deadline timestamptz,
  trigger text not null default 'schedule',
  task_spec json,
  not_tested text[] not null default '{}',
  -- False while only results are known: the Round object was not seen (yet), or is gone.
  registered boolean not null default false,
  first_seen timestamptz not null default now(),
  cancel_seen timestamptz,
  state text not null default 'ongoing' check (state in ('ongoing', 'succeed', 'fail', 'canceled', 'missed')),
  verdict text,
  verdict_body json,
  closed_at timestamptz,
  report_version bigint,
  targets integer, ok_targets integer,
  planned bigint, sent bigint, unsent bigint, succeeded bigint, failed bigint, bytes bigint,
  runners_expected integer, runners_ok integer, runners_failed integer, runners_canceled integer, runners_error integer, runners_missing integer,
  ${sums('latency')},
  p50_us double precision, p90_us double precision, p95_us double precision, p99_us double precision,
  errors jsonb, status_codes jsonb, reply_codes jsonb,
  comparison json,
  late_results integer not null default 0,
  -- What must still be told after the close; repeated until done.
  status_written boolean not null default false,
  announced boolean not null default false,
  primary key (task_uid, round),
  check ((closed_at is null) = (state = 'ongoing'))
);
create index rounds_open on report.rounds (deadline) where closed_at is null;
create index rounds_untold on report.rounds (closed_at) where closed_at is not null and not (status_written and announced);
create unique index rounds_version on report.rounds (report_version);
create index rounds_start on report.rounds (round_start);
create index rounds_task on report.rounds (namespace, kind, task, task_uid, round) where closed_at is not null;
create index rounds_name on report.rounds (namespace, name);

-- One terminal record per expected runner; state is null until the runner's last part is in, or the round is closed without it.
create table report.runner_rounds (
  task_uid text collate "C" not null,
  round integer not null,
  runner text collate "C" not null,
  node text not null,
  expected boolean not null default false,
  not_ready text,
  state text check (state in ('ok', 'failed', 'canceled', 'error', 'missing')),
  reason text,
  parts integer,
  -- As the runner said, before all its parts are in.
  outcome_state text,
  outcome_reason text,
  started_at timestamptz,
  ended_at timestamptz,
  target_count integer,
  starvation json,
  running_load json,
  recorded_at timestamptz,
  targets integer, ok_targets integer,
  planned bigint, sent bigint, unsent bigint, succeeded bigint, failed bigint, bytes bigint,
  ${sums('latency')},
  lag_p99_us double precision,
  errors jsonb, status_codes jsonb, reply_codes jsonb,
  primary key (task_uid, round, runner),
  foreign key (task_uid, round) references report.rounds on delete cascade
);

-- Which parts of a runner's result are in: the gate that makes redelivery harmless.
create table report.parts (
  task_uid text collate "C" not null,
  round integer not null,
  runner text collate "C" not null,
  parts integer not null,
  part integer not null,
  primary key (task_uid, round, runner, parts, part),
  foreign key (task_uid, round) references report.rounds on delete cascade
);

-- One row per round, runner and target.
create table report.results (
  round_start timestamptz not null,
  task_uid text collate "C" not null,
  round integer not null,
  runner text collate "C" not null,
  target text collate "C" not null,
  layer text not null,
  address text not null,
  method text not null,
  target_node text,
  family text,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  planned integer not null, sent integer not null, unsent integer not null, succeeded integer not null, failed integer not null, bytes bigint not null,
  ok boolean not null,
  reason text,
  ${distribution('latency')},
  -- How late the prober itself was, actual minus intended send time.
  lag_count integer, lag_sum_us double precision, lag_max_us double precision, lag_p99_us double precision,
  -- Count, sum and maximum (microseconds) of each of dns, connect, tls, firstByte, transfer.
  phases real[],
  errors jsonb,
  status_codes jsonb,
  reply_codes jsonb,
  primary key (round_start, task_uid, round, runner, target)
) partition by range (round_start);

-- Failed requests as they were, at most some per target and round.
create table report.failures (
  round_start timestamptz not null,
  task_uid text collate "C" not null,
  round integer not null,
  runner text collate "C" not null,
  target text collate "C" not null,
  at timestamptz not null,
  code text not null,
  message text not null,
  latency_us double precision not null
) partition by range (round_start);
create index failures_round on report.failures (task_uid, round, runner, target);
create index failures_at on report.failures using brin (at);

-- Results of closed rounds per hour, runner and target; kept longer than the rows they come from.
create table report.rollups (
  hour timestamptz not null,
  task_uid text collate "C" not null,
  runner text collate "C" not null,
  target text collate "C" not null,
  kind text not null, namespace text not null, task text not null, node text not null,
  layer text not null, target_node text,
  rounds integer not null, ok_rounds integer not null,
  planned bigint not null, sent bigint not null, unsent bigint not null, succeeded bigint not null, failed bigint not null, bytes bigint not null,
  ${sums('latency')},
  primary key (hour, task_uid, runner, target)
) partition by range (hour);

-- Hours in which a round was closed since they were rolled up.
create table report.dirty_hours (hour timestamptz primary key);
-- Everything before upto is rolled up.
create table report.rollup_state (name text primary key, upto timestamptz not null);

create sequence report.report_version;
-- Rounds that retention has removed, for those who watch.
create table report.retired (
  report_version bigint primary key,
  task_uid text not null, round integer not null, kind text not null, namespace text not null, task text not null, name text not null,
  retired_at timestamptz not null default now()
);
`;

export class ReportTables1763708400001 implements MigrationInterface {
  readonly name = 'ReportTables1763708400001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(up);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table report.rollups, report.failures, report.results, report.parts, report.runner_rounds, report.rounds,
      report.dirty_hours, report.rollup_state, report.retired; drop sequence report.report_version; drop schema grafana;`);
  }
}
