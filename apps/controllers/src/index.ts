import 'reflect-metadata';
import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { Controllers } from './controllers.ts';
import { settingsSchema, type Settings } from './settings.ts';

@Module({})
class ControllersModule {}

export const service: ServiceDefinition<Settings> = {
  name: 'controllers',
  config: settingsSchema,
  needsDatabase: true,
  migrate: migrateStore,
  module: (context) => ({ module: ControllersModule, providers: [{ provide: Controllers, useFactory: () => new Controllers(context) }] }),
};
