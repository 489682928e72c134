import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { openCluster } from '@roundsman/cluster';
import type { ServiceDefinition } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { Controllers } from './controllers.ts';
import { settingsSchema, type Settings } from './settings.ts';

@Module({})
class ControllersModule {}

/** `open`: how the Kubernetes API of the kubeconfig is reached. */
export const serviceWith = (open: typeof openCluster): ServiceDefinition<Settings> => ({
  name: 'controllers',
  config: settingsSchema,
  needsDatabase: true,
  migrate: migrateStore,
  module: (context) => ({ module: ControllersModule, providers: [{ provide: Controllers, useFactory: () => new Controllers(context, open) }] }),
});

export const service = serviceWith(openCluster);
