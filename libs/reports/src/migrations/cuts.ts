import type { MigrationInterface, QueryRunner } from 'typeorm';
import { layeredView } from './layers.ts';
import { viewNamed } from './views.ts';

/** The views with a success rate of single rounds, as they were before. */
const before: Record<'rounds' | 'targets' | 'matrix' | 'runners', string> = {
  rounds: viewNamed('rounds').replace('create view', 'create or replace view'),
  targets: layeredView('targets'),
  matrix: layeredView('matrix'),
  runners: layeredView('runners'),
};

/** In a canceled round the success rate is of what was sent and not called back. */
const rate = (of: string, tried: string): string => `${of}.succeeded::double precision / nullif(case when r.state = 'canceled' then ${tried} else ${of}.planned end, 0) as success_rate`;
const tried = (of: string): string => `${of}.sent - coalesce((${of}.errors ->> 'canceled')::bigint, 0)`;
function withRate(view: string, of: string, sent = tried(of)): string {
  const was = `case when ${of}.planned > 0 then ${of}.succeeded::double precision / ${of}.planned end as success_rate`;
  if (!view.includes(was)) throw new Error(`no success rate of ${of} in: ${view}`);
  return view.replace(was, rate(of, sent));
}
const views = [
  withRate(before.rounds, 'r'),
  withRate(before.targets, 'x'),
  withRate(before.matrix, 'm', 'm.tried').replace('sum(x.succeeded) as succeeded,', `sum(x.succeeded) as succeeded, sum(${tried('x')}) as tried,`),
  withRate(before.runners, 'rr'),
];

/** What broke a round off on a runner. */
export class ReportCuts1763748000005 implements MigrationInterface {
  readonly name = 'ReportCuts1763748000005';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table report.runner_rounds add column cut text');
    for (const view of views) await runner.query(view);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const view of Object.values(before)) await runner.query(view);
    await runner.query('alter table report.runner_rounds drop column cut');
  }
}
