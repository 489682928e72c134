import 'reflect-metadata';
import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { Scheduler } from './scheduler.ts';
import { settingsSchema, type Settings } from './settings.ts';

@Module({})
class SchedulerModule {}

export const service: ServiceDefinition<Settings> = {
  name: 'scheduler',
  config: settingsSchema,
  needsDatabase: true,
  migrate: migrateStore,
  module: (context) => ({ module: SchedulerModule, providers: [{ provide: Scheduler, useFactory: () => new Scheduler(context) }] }),
};
