import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort } from '@roundsman/testkit';
import { echoEntry } from './index.ts';
import { ended } from './testing/rig.ts';

describe('the echo program', () => {
  let folder: string;
  let child: ChildProcess | undefined;
  let said = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-echo-program-'));
  });
  afterEach(async () => {
    if (child !== undefined) await ended(child, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const start = (env: Record<string, string>): ChildProcess => {
    const started = spawn(process.execPath, [echoEntry], { env: { ROUNDSMAN_ECHO_DATA_DIR: folder, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    said = '';
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (data: Buffer) => (said += data.toString()));
    return (child = started);
  };

  it('is an echo target without NATS, on the ports that it is told, and ends when told to', async () => {
    const [http, https, dns, dot, udp] = await Promise.all(Array.from({ length: 5 }, () => freePort()));
    const program = start({
      ROUNDSMAN_ECHO_HTTP_PORT: String(http), ROUNDSMAN_ECHO_HTTPS_PORT: String(https), ROUNDSMAN_ECHO_DNS_PORT: String(dns), ROUNDSMAN_ECHO_DOT_PORT: String(dot), ROUNDSMAN_ECHO_UDP_PORT: String(udp),
      ROUNDSMAN_ECHO_SERVER_NAME: 'shop', ROUNDSMAN_ECHO_DNS_UPSTREAM: 'system', ROUNDSMAN_ECHO_SERVICE_HOST: '10.96.0.1', ROUNDSMAN_ECHO_PORT: 'tcp://10.96.0.1:80',
    });
    const base = `http://127.0.0.1:${http}`;
    await eventually(async () => expect((await fetch(`${base}/healthz`)).status).toBe(200));
    expect(await (await fetch(`${base}/?task=a`)).json()).toMatchObject({ serverName: 'shop', requestCount: 1 });
    expect(await (await fetch(`${base}/counters`)).json()).toMatchObject({ tasks: { a: { total: 1 } } });
    await ended(program, 'SIGTERM');
    expect(program.exitCode).toBe(0);
  });

  it('says which setting is wrong', async () => {
    const wrong = async (env: Record<string, string>): Promise<string> => {
      const program = start(env);
      await new Promise((resolve) => program.once('close', resolve));
      expect(program.exitCode).toBe(1);
      return said;
    };
    expect(await wrong({ ROUNDSMAN_ECHO_PORT: '80' })).toContain('ROUNDSMAN_ECHO_PORT: no such setting');
    expect(await wrong({ ROUNDSMAN_ECHO_DNS_UPSTREAM: 'nobody' })).toContain('ROUNDSMAN_ECHO_DNS_UPSTREAM');
    expect(await wrong({ ROUNDSMAN_ECHO_KEY_FILE: '/x' })).toContain('both or none');
  });
});
