import { lookup } from 'node:dns/promises';
import { readFileSync, writeSync } from 'node:fs';
import { connectBus } from '@roundsman/bus';
import { runnerConfigSchema, type RunnerConfig } from './config.ts';
import { leanLog, messageOf, type RunnerLog } from './log.ts';
import { Runner } from './runner.ts';
import { version } from './version.ts';

/**
 * A runner as a process of its own. Environment: ROUNDSMAN_NATS_URL, ROUNDSMAN_NATS_SEED_FILE (nkey seed of its identity; left
 * out where NATS asks for none), ROUNDSMAN_NATS_IDENTITY (default `runner-<name>`), ROUNDSMAN_RUNNER_NAME, ROUNDSMAN_NODE, ROUNDSMAN_RUNTIME,
 * ROUNDSMAN_DATA_DIR, ROUNDSMAN_BIND_ADDRESSES, ROUNDSMAN_LOG_LEVEL, ROUNDSMAN_HEALTH_HOST and ROUNDSMAN_HEALTH_PORT; all other settings of
 * config.ts as ROUNDSMAN_RUNNER_<KEY>. SIGTERM ends it: running rounds go back to the stream (Runner.stop).
 */
const shortNames = { node: 'ROUNDSMAN_NODE', runtime: 'ROUNDSMAN_RUNTIME', dataDir: 'ROUNDSMAN_DATA_DIR', bindAddresses: 'ROUNDSMAN_BIND_ADDRESSES' } as const;
const variableOf = (key: string): string =>
  (shortNames as Record<string, string>)[key] ?? `ROUNDSMAN_RUNNER_${key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase()}`;

function readConfig(env: NodeJS.ProcessEnv): RunnerConfig {
  const keys = Object.keys(runnerConfigSchema.shape);
  const known = new Set(keys.map(variableOf));
  const unknown = Object.keys(env).filter((name) => name.startsWith('ROUNDSMAN_RUNNER_') && !known.has(name));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: no such setting; known are ${[...known].join(', ')}`);
  const given = keys.flatMap((key) => {
    const value = env[variableOf(key)];
    return value === undefined || value === '' ? [] : [[key, value]];
  });
  const parsed = runnerConfigSchema.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `${variableOf(String(issue.path[0]))}: ${issue.message}`).join('; '));
}

/** The product's own NATS is no target. */
async function natsEndpoints(url: string): Promise<{ address: string; port: number }[]> {
  const found = url.split(',').map(async (server) => {
    const { hostname, port } = new URL(server.includes('://') ? server : `nats://${server}`);
    const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
    return addresses.map(({ address }) => ({ address, port: port === '' ? 4222 : Number(port) }));
  });
  return (await Promise.all(found)).flat();
}

async function run(env: NodeJS.ProcessEnv): Promise<void> {
  const given = readConfig(env);
  const log = leanLog(env['ROUNDSMAN_LOG_LEVEL'] ?? 'info', { service: `probe-runner/${given.name}` }, (line) => writeSync(1, line));
  const url = env['ROUNDSMAN_NATS_URL'];
  if (url === undefined || url === '') throw new Error('ROUNDSMAN_NATS_URL: must be set');
  const config: RunnerConfig = { ...given, denyEndpoints: [...given.denyEndpoints, ...(await natsEndpoints(url))] };
  const seedFile = env['ROUNDSMAN_NATS_SEED_FILE'];
  const caFile = env['ROUNDSMAN_NATS_CA_FILE'];
  let stop: () => Promise<void> = () => Promise.resolve();
  const bus = await connectBus({
    servers: url.split(','),
    identity: env['ROUNDSMAN_NATS_IDENTITY'] ?? `runner-${config.name}`,
    ...(seedFile === undefined || seedFile === '' ? {} : { seed: readFileSync(seedFile, 'utf8').trim() }),
    ...(caFile === undefined || caFile === '' ? {} : { ca: readFileSync(caFile, 'utf8') }),
    log,
    onFatal: () => void end(log, 1, () => stop()),
  });
  const runner = new Runner({ config, bus, log, version });
  let closeHealth: () => Promise<void> = () => Promise.resolve();
  stop = async () => {
    await closeHealth();
    await runner.stop();
    await bus.close();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(log, 0, stop));
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'an error was thrown and nobody caught it');
    void end(log, 1, stop);
  });
  await runner.start();
  const healthPort = env['ROUNDSMAN_HEALTH_PORT'];
  if (healthPort !== undefined && healthPort !== '') closeHealth = await serveHealthOf(runner, bus.health.bind(bus), env['ROUNDSMAN_HEALTH_HOST'] ?? '127.0.0.1', Number(healthPort));
}

/** Health and metrics cost some 20 MiB, so only those who ask for them load them. */
async function serveHealthOf(runner: Runner, busHealth: () => { connected: boolean; violations: string[] }, host: string, port: number): Promise<() => Promise<void>> {
  const [{ Health, ProcessMetrics, serveHealth }, { registerMetrics }] = await Promise.all([import('@roundsman/service'), import('./metrics.ts')]);
  const health = new Health();
  const metrics = new ProcessMetrics();
  health.add({
    name: 'probe-runner/bus',
    problem: () => {
      const { connected, violations } = busHealth();
      return connected ? (violations.length > 0 ? `NATS refused: ${violations.join(', ')}` : undefined) : 'not connected to NATS';
    },
  });
  registerMetrics(metrics, runner);
  const server = await serveHealth({ host, port, health, metrics });
  return () => server.close();
}

let ending = false;
/** A second call, or a stop that hangs, ends the process at once. */
async function end(log: RunnerLog, code: number, stop: () => Promise<void>): Promise<void> {
  if (ending) process.exit(code === 0 ? 130 : code);
  ending = true;
  setTimeout(() => process.exit(1), 8_000).unref();
  try {
    await stop();
    process.exit(code);
  } catch (error) {
    log.error({ err: error }, 'did not stop cleanly');
    process.exit(1);
  }
}

run(process.env).catch((error: unknown) => {
  writeSync(2, `probe-runner: ${messageOf(error)}\n`);
  process.exit(1);
});
