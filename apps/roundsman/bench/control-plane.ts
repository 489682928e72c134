// The control plane in one process, as `roundsman up` composes it: DATABASE_URL and NATS_URL name its servers. Prints the URL of the
// gateway, and for every line on standard input the microseconds of CPU it has used; ends with its parent.
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { connectBus } from '@roundsman/bus';
import { service as controllers } from '@roundsman/controllers';
import { gatewayService } from '@roundsman/gateway';
import { service as intake } from '@roundsman/intake';
import { service as reporter } from '@roundsman/reporter';
import { service as scheduler } from '@roundsman/scheduler';
import { makeLogger, runServices, type ServiceDefinition } from '@roundsman/service';

const log = makeLogger({ level: 'warn', format: 'pretty', stream: process.stderr });
const listening = Promise.withResolvers<string>();
const definitions = [intake, reporter, scheduler, controllers, gatewayService(({ localUrl }) => listening.resolve(localUrl))] as ServiceDefinition[];
await runServices(definitions.map((definition) => ({ definition })), {
  env: { ROUNDSMAN_GATEWAY_INSECURE: 'true' },
  log,
  databaseUrl: process.env['DATABASE_URL']!,
  connect: (identity) => connectBus({ servers: process.env['NATS_URL']!, identity, log }),
});
console.log(await listening.promise);
for await (const _line of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  console.log(user + system);
}
process.exit();
