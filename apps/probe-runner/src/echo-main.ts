import { mkdtempSync, readFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { echoSettingsSchema } from './echo-settings.ts';
import { EchoTarget } from './echo/target.ts';
import { readEnvironment, upperOf } from './environment.ts';
import { leanLog } from './log.ts';
import { endOnSignals, exitOnProblem } from './program.ts';

/**
 * The echo target of the runners as a program of its own, without NATS: a server to test against, and to count requests with. SIGTERM ends it.
 */
async function run(env: NodeJS.ProcessEnv): Promise<void> {
  const settings = readEnvironment(echoSettingsSchema, env, 'ROUNDSMAN_ECHO_', (key) => `ROUNDSMAN_ECHO_${upperOf(key)}`);
  const { certificateFile, keyFile, caFile, clientCaFile, httpPort, httpsPort, dnsPort, dotPort, udpPort } = settings;
  if ((certificateFile === undefined) !== (keyFile === undefined)) throw new Error('ROUNDSMAN_ECHO_CERTIFICATE_FILE and ROUNDSMAN_ECHO_KEY_FILE: both or none');
  const log = leanLog(settings.logLevel, { service: 'echo' }, (line) => writeSync(1, line));
  const read = (file: string): string => readFileSync(file, 'utf8');
  const echo = new EchoTarget({
    addresses: settings.bindAddresses,
    ports: { http: httpPort, https: httpsPort, dns: dnsPort, dot: dotPort, udp: udpPort },
    folder: settings.dataDir ?? mkdtempSync(join(tmpdir(), 'roundsman-echo-')),
    serverName: settings.serverName,
    names: [...new Set([settings.serverName, 'localhost', '127.0.0.1', ...settings.certificateNames])],
    ...(certificateFile === undefined || keyFile === undefined ? {} : { certificate: { cert: read(certificateFile), key: read(keyFile), ca: caFile === undefined ? '' : read(caFile) } }),
    ...(clientCaFile === undefined ? {} : { clientCa: read(clientCaFile) }),
    ...(settings.dnsUpstream === undefined ? {} : { upstream: settings.dnsUpstream }),
    log,
  });
  endOnSignals(log, 5_000, () => echo.stop());
  await echo.start();
  log.info({ addresses: echo.addresses, ports: echo.ports }, 'the echo target is up');
}

exitOnProblem('echo', run(process.env));
