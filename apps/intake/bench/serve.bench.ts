// Intake in a process of its own: DATABASE_URL and NATS_URL name its servers. Prints `ready`, and
// for every line on standard input the microseconds of CPU it has used; ends with its parent.
import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { connectBus } from '@roundsman/bus';
import { makeLogger, runServices } from '@roundsman/service';
import { service } from '@roundsman/intake';

const log = makeLogger({ level: 'warn', format: 'pretty' });
await runServices([{ definition: service }], { env: {}, log, databaseUrl: process.env['DATABASE_URL']!, connect: (identity) => connectBus({ servers: process.env['NATS_URL']!, identity }) });
console.log('ready');
for await (const _line of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  console.log(user + system);
}
process.exit();
