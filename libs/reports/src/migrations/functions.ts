import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
-- The value that stands for a bucket of a log-bucket histogram, microseconds; within 1 % of every value in it.
create function grafana.lb_value(bucket integer) returns double precision
language sql immutable parallel safe strict as $$
  select 2 * power(1.02020202::double precision, bucket) / 2.02020202::double precision
$$;

-- Quantile q (0..1) by nearest rank from buckets and their counts, in ascending order of bucket; microseconds; null when empty.
create function grafana.lb_quantile(q double precision, buckets smallint[], counts bigint[]) returns double precision
language plpgsql immutable parallel safe strict as $$
declare
  total bigint := 0;
  seen bigint := 0;
  wanted bigint;
  n bigint;
  i integer := 0;
begin
  foreach n in array counts loop total := total + n; end loop;
  if total = 0 then return null; end if;
  wanted := greatest(1, ceil(least(1, greatest(0, q)) * total));
  foreach n in array counts loop
    i := i + 1;
    seen := seen + n;
    if seen >= wanted then return 2 * power(1.02020202::double precision, buckets[i]) / 2.02020202::double precision; end if;
  end loop;
  return null;
end $$;

-- The same, never outside the exact minimum and maximum.
create function grafana.lb_quantile(q double precision, buckets smallint[], counts bigint[], min_us double precision, max_us double precision) returns double precision
language sql immutable parallel safe as $$
  select case when cardinality(counts) > 0 then least(max_us, greatest(min_us, grafana.lb_quantile(q, buckets, counts))) end
$$;
`;

export class ReportFunctions1763708400002 implements MigrationInterface {
  readonly name = 'ReportFunctions1763708400002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(up);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop function grafana.lb_quantile(double precision, smallint[], bigint[], double precision, double precision); drop function grafana.lb_quantile(double precision, smallint[], bigint[]); drop function grafana.lb_value(integer);');
  }
}
