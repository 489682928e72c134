import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { migrateReports } from '@roundsman/reports';
import type { ServiceDefinition } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { Reporter } from './reporter.ts';
import { settingsSchema, type Settings } from './settings.ts';

@Module({})
class ReporterModule {}

export const service: ServiceDefinition<Settings> = {
  name: 'reporter',
  config: settingsSchema,
  needsDatabase: true,
  migrate: async (databaseUrl) => {
    await migrateStore(databaseUrl);
    await migrateReports(databaseUrl);
  },
  module: (context) => ({ module: ReporterModule, providers: [{ provide: Reporter, useFactory: () => new Reporter(context) }] }),
};
