// One intake in a process of its own, to be killed: DATABASE_URL and NATS_URL name its servers, ROUNDSMAN_INTAKE_* are its settings. Ends with its parent.
import 'reflect-metadata';
import { connectBus } from '@roundsman/bus';
import { makeLogger, runServices } from '@roundsman/service';
import { service } from '@roundsman/intake';

const log = makeLogger({ level: 'info', format: 'json', stream: { write: (line) => process.stdout.write(line) } });
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('ROUNDSMAN_INTAKE_')));
await runServices([{ definition: service }], { env, log, databaseUrl: process.env.DATABASE_URL, connect: (identity) => connectBus({ servers: process.env.NATS_URL, identity }) });
process.stdin.resume().once('end', () => process.exit());
