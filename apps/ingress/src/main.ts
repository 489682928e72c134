import { readFileSync } from 'node:fs';
import { connectBus, ingressIdentity } from '@roundsman/bus';
import { Health, liveUntilSignal, makeLogger, ProcessMetrics, readSettings, serveHealth, type HealthServer } from '@roundsman/service';
import { Registry } from 'prom-client';
import { IngressProxy } from './ingress-proxy.ts';
import { settingsSchema, type Settings } from './settings.ts';

/** The ingress proxy as a process of its own; its settings are environment variables (settings.ts). SIGTERM ends it, gracefully. */
async function run(env: NodeJS.ProcessEnv): Promise<void> {
  const settings = readSettings<Settings>('ingress', settingsSchema, env);
  const { node, natsUrl, natsSeedFile, natsCaFile, logLevel } = settings;
  const log = makeLogger({ level: logLevel, format: 'json' }).child({ service: `ingress/${node}` });
  let proxy: IngressProxy | undefined;
  let healthServer: HealthServer | undefined;
  const bus = await connectBus({
    servers: natsUrl.split(','),
    identity: ingressIdentity(node).name,
    ...(natsSeedFile === undefined ? {} : { seed: readFileSync(natsSeedFile, 'utf8').trim() }),
    ...(natsCaFile === undefined ? {} : { ca: readFileSync(natsCaFile, 'utf8') }),
    log,
    onFatal: (error) => {
      throw error;
    },
  });
  liveUntilSignal(log, async () => {
    await proxy?.stop();
    await healthServer?.close();
    await bus.close();
  });
  proxy = new IngressProxy(settings, bus, log);
  await proxy.start();
  if (settings.healthPort !== undefined) healthServer = await serve(settings.healthHost, settings.healthPort, proxy, bus.health.bind(bus));
}

function serve(host: string, port: number, proxy: IngressProxy, busHealth: () => { connected: boolean; violations: string[] }): Promise<HealthServer> {
  const health = new Health();
  health.add({ name: 'ingress/rules', problem: () => proxy.problem() });
  health.add({
    name: 'ingress/bus',
    problem: () => {
      const { connected, violations } = busHealth();
      if (!connected) return 'not connected to NATS';
      return violations.length > 0 ? `NATS refused: ${violations.join(', ')}` : undefined;
    },
  });
  return serveHealth({ host, port, health, metrics: Registry.merge([new ProcessMetrics(), proxy.measures.registry]) });
}

run(process.env).catch((error: unknown) => {
  process.stderr.write(`ingress: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
