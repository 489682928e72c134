import 'reflect-metadata';
import { Module } from '@nestjs/common';
import type { ServiceDefinition } from '@roundsman/service';
import { NodeAgent } from './node-agent.ts';
import { settingsSchema, type Settings } from './settings.ts';

export { removeFromHosts } from './dns/machine-hosts/machine-hosts.ts';
export { machineAddresses } from './network/addresses/machine-addresses.ts';
export { wiringLacks } from './network/choice.ts';
export { dockerNetworkName } from './network/docker-network.ts';
export { routedRanges } from './network/kernel/route-table.ts';
export { claimedRanges } from './network/machine/claimed-ranges.ts';
export { removeNetwork } from './network/remove-network.ts';
export { removeForwarding } from './services/remove-forwarding.ts';
export { runnerNameOf, type Settings } from './settings.ts';

@Module({})
class NodeAgentModule {}

/** One node. A process that is several virtual nodes runs several instances, each with settings of its own. */
export const service: ServiceDefinition<Settings> = {
  name: 'node-agent',
  config: settingsSchema,
  needsDatabase: false,
  module: (context) => ({ module: NodeAgentModule, providers: [{ provide: NodeAgent, useFactory: () => new NodeAgent(context) }] }),
};
