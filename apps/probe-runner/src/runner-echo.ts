import { join } from 'node:path';
import { echoServiceName, type RunnerConfig } from './config.ts';
import { EchoTarget } from './echo/target.ts';
import type { RunnerLog } from './log.ts';

/** The echo target of a runner; not listening yet. Loads nothing of NATS: it listens while that is loaded. */
export function runnerEcho(config: RunnerConfig, log: RunnerLog): EchoTarget {
  const { httpPort, httpsPort, dnsPort, dotPort, udpPort } = config;
  const ports = { http: httpPort, https: httpsPort, dns: dnsPort, dot: dotPort, udp: udpPort };
  return new EchoTarget({
    addresses: config.bindAddresses,
    advertised: config.advertiseAddresses,
    ports: Object.fromEntries(Object.entries(ports).filter((entry): entry is [string, number] => entry[1] !== undefined)),
    folder: join(config.dataDir, 'echo'),
    serverName: config.name,
    names: [echoServiceName, `${echoServiceName}.cluster.local`, config.node, 'localhost', '127.0.0.1', ...config.certificateNames],
    ...(config.dnsUpstream === undefined ? {} : { upstream: config.dnsUpstream }),
    log,
  });
}
