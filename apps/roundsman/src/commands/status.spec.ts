import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Home, type State } from '../home.ts';
import { record } from '../processes.ts';
import { status, statusOf } from './status.ts';

const down = 'the Docker daemon at /var/run/docker.sock is not running: start it';

describe('status', () => {
  let folder: string;
  let home: Home;
  let gateway: Server;
  let runnable: Record<string, unknown>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'roundsman-status-'));
    home = new Home(join(folder, 'home'));
    home.create();
    home.token(() => 't');
    runnable = { type: 'ContainersRunnable', status: 'True' };
    const nodes = ['node-1', 'node-2'];
    const answers: Record<string, () => unknown> = {
      '/readyz': () => ({ checks: [] }),
      '/api/v1/nodes': () => ({ items: nodes.map((name) => ({ metadata: { name }, status: { conditions: [{ type: 'Ready', status: 'True' }, runnable] } })) }),
      '/apis/roundsman.io/v1/runners': () => ({ items: nodes.map((node) => ({ metadata: { name: `default-${node}` }, status: { runtime: 'default', node, ready: true } })) }),
    };
    gateway = createServer(({ url = '' }, response) => response.writeHead(answers[url] === undefined ? 404 : 200).end(JSON.stringify(answers[url]?.() ?? {})));
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    gateway.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const runs = (more: Partial<State>): void =>
    home.saveState({
      version: '1', phase: 'ready', startedAt: new Date().toISOString(), nodes: ['node-1', 'node-2'], runners: 'process', gateway: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
      nats: '', postgres: '', grafana: '', ports: {}, postgresData: '', supervisor: record('supervisor', process.pid)!, processes: [], ...more,
    });
  async function printed(): Promise<{ readonly text: string; readonly code: unknown }> {
    const before = { code: process.exitCode, home: process.env['ROUNDSMAN_HOME'] };
    const told: string[] = [];
    const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => told.push(String(text)) > 0);
    try {
      process.env['ROUNDSMAN_HOME'] = home.path;
      await status({});
      return { text: told.join(''), code: process.exitCode };
    } finally {
      write.mockRestore();
      process.exitCode = before.code;
      if (before.home === undefined) delete process.env['ROUNDSMAN_HOME'];
      else process.env['ROUNDSMAN_HOME'] = before.home;
    }
  }

  it('is not well while the Docker that pods run on is dead, and says so once', async () => {
    runs({ docker: '/var/run/docker.sock' });
    expect(await statusOf(home)).toMatchObject({ state: 'ready', problems: [] });
    runnable = { type: 'ContainersRunnable', status: 'False', reason: 'ContainerRuntimeIsDown', message: down };
    expect(await statusOf(home)).toMatchObject({ state: 'unwell', ready: false, problems: [`nodes node-1, node-2: ContainersRunnable=False: ${down}`] });
    const { text, code } = await printed();
    expect([code, text.split('\n')[0]]).toEqual([1, expect.stringContaining('Roundsman is not well')]);
    expect(text.split(down)).toHaveLength(2);
  });

  it('is well without pods where they were switched off, or where Docker never was, and says which', async () => {
    runnable = { type: 'ContainersRunnable', status: 'False', reason: 'NoContainerRuntime', message: 'no Docker daemon is set for this node' };
    runs({ dockerOff: true });
    expect(await printed()).toEqual({ code: 0, text: expect.stringMatching(/^Roundsman is well.*\n {2}pods {4}switched off \(--docker off\)\n/s) });
    expect(await statusOf(home)).toMatchObject({ state: 'ready', dockerOff: true, problems: [] });
    runs({});
    expect(await printed()).toEqual({ code: 0, text: expect.stringMatching(/^Roundsman is well.*\n {2}pods {4}cannot run here: no Docker\n/s) });
  });
});
