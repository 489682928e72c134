import { lookup } from 'node:dns/promises';
import { readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runnerConfigSchema, type RunnerConfig } from './config.ts';
import { readEnvironment, upperOf } from './environment.ts';
import { leanLog, messageOf, type RunnerLog } from './log.ts';
import { endOnSignals, exitOnProblem } from './program.ts';
import { runnerEcho } from './runner-echo.ts';
import type { Runner } from './runner.ts';
import { version } from './version.ts';

/**
 * A runner as a process of its own. Environment: ROUNDSMAN_NATS_URL, ROUNDSMAN_NATS_SEED_FILE (nkey seed of its identity) or, for one that NATS is to ask
 * the controllers about, ROUNDSMAN_NATS_TOKEN_FILE (it logs in by its name and what is in there); neither where NATS asks for none. ROUNDSMAN_NATS_IDENTITY
 * (default `runner-<name>`), ROUNDSMAN_NATS_CA_FILE, ROUNDSMAN_RUNNER_NAME, ROUNDSMAN_NODE, ROUNDSMAN_RUNTIME, ROUNDSMAN_DATA_DIR, ROUNDSMAN_BIND_ADDRESSES,
 * ROUNDSMAN_LOG_LEVEL, ROUNDSMAN_HEALTH_HOST and ROUNDSMAN_HEALTH_PORT; all other settings of config.ts as ROUNDSMAN_RUNNER_<KEY>. SIGTERM ends it: what
 * becomes of running rounds is for ROUNDSMAN_RUNNER_ON_STOP to say (Runner.stop).
 */
const shortNames: Record<string, string> = { node: 'ROUNDSMAN_NODE', runtime: 'ROUNDSMAN_RUNTIME', dataDir: 'ROUNDSMAN_DATA_DIR', bindAddresses: 'ROUNDSMAN_BIND_ADDRESSES' };
const variableOf = (key: string): string => shortNames[key] ?? `ROUNDSMAN_RUNNER_${upperOf(key)}`;

/** Reporting takes as long as NATS takes to answer; the agent that ends a pod waits for 15 s. */
const stopMs = { return: 8_000, report: 13_000 } as const;

/** The product's own NATS is no target. Waits as long as its name leads nowhere: in a cluster that begins, DNS may not know it yet. */
async function natsEndpoints(url: string, log: RunnerLog): Promise<{ address: string; port: number }[]> {
  const servers = url.split(',').map((server) => new URL(server.includes('://') ? server : `nats://${server}`));
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = servers.map(async ({ hostname, port }) => {
        const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
        return addresses.map(({ address }) => ({ address, port: port === '' ? 4222 : Number(port) }));
      });
      return (await Promise.all(found)).flat();
    } catch (error) {
      if (attempt % 30 === 0) log.warn({ url, error: messageOf(error) }, 'the name of NATS leads nowhere yet; tried again');
      await sleep(Math.min(2_000, 100 * 2 ** attempt));
    }
  }
}

async function run(env: NodeJS.ProcessEnv): Promise<void> {
  const given = readEnvironment(runnerConfigSchema, env, 'ROUNDSMAN_RUNNER_', variableOf);
  const log = leanLog(env['ROUNDSMAN_LOG_LEVEL'] ?? 'info', { service: `probe-runner/${given.name}` }, (line) => writeSync(1, line));
  const url = env['ROUNDSMAN_NATS_URL'];
  if (url === undefined || url === '') throw new Error('ROUNDSMAN_NATS_URL: must be set');
  const read = (name: string): string | undefined => (env[name] === undefined || env[name] === '' ? undefined : readFileSync(env[name], 'utf8').trim());
  const [seed, password, ca] = [read('ROUNDSMAN_NATS_SEED_FILE'), read('ROUNDSMAN_NATS_TOKEN_FILE'), read('ROUNDSMAN_NATS_CA_FILE')];
  const stops: (() => Promise<void>)[] = [];
  const end = endOnSignals(log, stopMs[given.onStop], async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  // The echo target answers, and the pod is ready, without NATS and before all that NATS needs is loaded.
  const echo = runnerEcho(given, log);
  stops.push(() => echo.stop());
  await echo.start();
  const [{ connectBus }, { Runner }, denied] = await Promise.all([import('@roundsman/bus'), import('./runner.ts'), natsEndpoints(url, log)]);
  const config: RunnerConfig = { ...given, denyEndpoints: [...given.denyEndpoints, ...denied] };
  const bus = await connectBus({
    servers: url.split(','),
    identity: env['ROUNDSMAN_NATS_IDENTITY'] ?? `runner-${config.name}`,
    ...(seed === undefined ? {} : { seed }),
    ...(password === undefined ? {} : { login: { user: config.name, password } }),
    ...(ca === undefined ? {} : { ca }),
    log,
    onFatal: () => void end(1),
  });
  stops.push(() => bus.close());
  const runner = new Runner({ config, bus, log, version, echo });
  stops.push(() => runner.stop());
  await runner.start();
  const healthPort = env['ROUNDSMAN_HEALTH_PORT'];
  if (healthPort !== undefined && healthPort !== '') stops.push(await serveHealthOf(runner, bus.health.bind(bus), env['ROUNDSMAN_HEALTH_HOST'] ?? '127.0.0.1', Number(healthPort)));
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

exitOnProblem('probe-runner', run(process.env));
