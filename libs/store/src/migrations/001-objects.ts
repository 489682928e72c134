import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Objects as they are, and every change of them in version order. */
export class Objects1700000000001 implements MigrationInterface {
  readonly name = 'Objects1700000000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table roundsman.objects (
        resource  text   collate "C" not null,
        namespace text   collate "C" not null,
        name      text   collate "C" not null,
        uid       text   not null,
        version   bigint not null,
        body      json   not null,
        primary key (resource, namespace, name)
      ) with (fillfactor = 70);
      comment on table roundsman.objects is 'Current state of every object; namespace is empty for cluster-scoped kinds. Written by intake only.';

      create table roundsman.changes (
        version     bigint primary key,
        of_resource bigint not null,
        type        text   not null check (type in ('ADDED', 'MODIFIED', 'DELETED')),
        resource    text   collate "C" not null,
        namespace   text   collate "C" not null,
        name        text   collate "C" not null,
        uid         text   not null,
        at          timestamptz not null default now(),
        body        json   not null
      );
      create index changes_of_resource on roundsman.changes (resource, version);
      comment on table roundsman.changes is 'Changes in version order without gaps, trimmed from the oldest; of_resource is the version of the change before it in the same resource.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table roundsman.changes, roundsman.objects');
  }
}
