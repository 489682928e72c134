import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus, loadSeed } from '@roundsman/bus';
import { liveUntilSignal, makeLogger, refuseUnknownSettings, runServices, serveHealth, type HealthServer, type RunningServices } from '@roundsman/service';
import { serviceIdentityOf } from './identity.ts';
import { loadServices, serviceNames } from './services.ts';
import { ownEndpoints, policyEnv } from './target-policy.ts';
import { UserError } from './user-error.ts';

/** Runs services until SIGTERM or SIGINT. */
export async function serve(names: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const { endpoints, problems } = await ownEndpoints(env);
  const policy: Readonly<Record<string, NodeJS.ProcessEnv>> = policyEnv(env, endpoints);
  if (names.length === 1 && names[0] === 'probe-runner') {
    Object.assign(process.env, policy['probe-runner']);
    // A runner alone has a program of its own, without Nest: nothing may disturb a measurement.
    const { runnerEntry } = await import('@roundsman/probe-runner');
    await import(runnerEntry);
    return;
  }
  refuseUnknownSettings([...serviceNames, 'runner'], env);
  const log = makeLogger({ level: levelOf(env), format: formatOf(env, process.stdout.isTTY === true) });
  for (const problem of problems) log.warn({ problem }, 'tasks may target an endpoint of Roundsman itself: its name has no address now');
  const definitions = await loadServices(names);
  let running: RunningServices | undefined;
  let healthServer: HealthServer | undefined;
  liveUntilSignal(log, async () => {
    await running?.stop();
    await healthServer?.close();
  });
  const databaseUrl = env['ROUNDSMAN_DATABASE_URL'];
  const caFile = env['ROUNDSMAN_NATS_CA_FILE'];
  const ca = caFile ? await readFile(caFile, 'utf8') : undefined;
  running = await runServices(
    definitions.map((definition) => ({ definition, identity: serviceIdentityOf(definition.name, env), ...(policy[definition.name] === undefined ? {} : { env: policy[definition.name]! }) })),
    {
      env,
      log,
      ...(databaseUrl ? { databaseUrl } : {}),
      connect: async (identity, busLog) => {
        const seed = await seedOf(identity, env);
        return connectBus({ servers: env['ROUNDSMAN_NATS_URL'] || 'nats://127.0.0.1:4222', identity, ...(seed === undefined ? {} : { seed }), ...(ca === undefined ? {} : { ca }), log: busLog, onFatal: fatal });
      },
    },
  );
  const port = healthPort(env);
  if (port !== undefined) healthServer = await serveHealth({ host: env['ROUNDSMAN_HEALTH_HOST'] || '127.0.0.1', port, health: running.health, metrics: running.metrics });
  log.info({ services: definitions.map(({ name }) => name), ...(healthServer ? { healthPort: healthServer.port } : {}) }, 'running');
}

/** NATS no longer accepts us: only a restart with other keys can help, and a supervisor does that. */
function fatal(error: Error): never {
  throw error;
}

async function seedOf(identity: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folder = env['ROUNDSMAN_NATS_KEYS'];
  if (!folder) return undefined;
  const file = join(folder, `${identity}.nk`);
  try {
    return (await loadSeed(file)).seed;
  } catch (error) {
    throw new UserError(`no key for ${identity}: ${(error as Error).message}`, 'ROUNDSMAN_NATS_KEYS names the folder with one <identity>.nk for each service.', { cause: error });
  }
}

export function levelOf(env: NodeJS.ProcessEnv): string {
  const level = env['ROUNDSMAN_LOG_LEVEL'] || 'info';
  if (!['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].includes(level)) throw new UserError(`ROUNDSMAN_LOG_LEVEL: no level is called ${level}`, 'Use trace, debug, info, warn, error or silent.');
  return level;
}

export function formatOf(env: NodeJS.ProcessEnv, terminal: boolean): 'json' | 'pretty' {
  const format = env['ROUNDSMAN_LOG_FORMAT'] || (terminal ? 'pretty' : 'json');
  if (format !== 'json' && format !== 'pretty') throw new UserError(`ROUNDSMAN_LOG_FORMAT: ${format} is neither json nor pretty`);
  return format;
}

function healthPort(env: NodeJS.ProcessEnv): number | undefined {
  const text = env['ROUNDSMAN_HEALTH_PORT'];
  if (!text) return undefined;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UserError(`ROUNDSMAN_HEALTH_PORT: ${text} is not a port`);
  return port;
}
