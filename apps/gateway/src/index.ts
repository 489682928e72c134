import type { ServiceDefinition } from '@roundsman/service';
import { migrateReports } from '@roundsman/reports';
import { migrateStore } from '@roundsman/store';
import { gatewayConfig, type GatewayConfig } from './config.ts';
import { GatewayModule, type Listening } from './gateway.module.ts';

export { serverCertificate, type ServerCertificate } from './http/certificate.ts';
export type { GatewayConfig } from './config.ts';
export type { Listening } from './gateway.module.ts';

/** The gateway; `listening` is called once it accepts requests, with the port it got. */
export const gatewayService = (listening: (where: Listening) => void = () => undefined): ServiceDefinition<GatewayConfig> => ({
  name: 'gateway',
  config: gatewayConfig,
  needsDatabase: true,
  migrate: async (databaseUrl) => {
    await migrateStore(databaseUrl);
    await migrateReports(databaseUrl);
  },
  module: (context) => GatewayModule.register(context, listening),
});

export const service: ServiceDefinition<GatewayConfig> = gatewayService();
