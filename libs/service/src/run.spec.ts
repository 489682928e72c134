import { describe, expect, it } from '@jest/globals';
import type { Bus } from '@roundsman/bus';
import { Gauge } from 'prom-client';
import { z } from 'zod';
import type { ServiceDefinition } from './definition.ts';
import { serveHealth } from './health-server.ts';
import { makeLogger } from './log.ts';
import { runServices, type RunOptions } from './run.ts';

const events: string[] = [];

/** A bus that only knows who it is; what the services do with it is not this test's matter. */
class QuietBus {
  connected = true;
  constructor(readonly identity: string) {}
  health(): { connected: boolean; violations: string[] } {
    return { connected: this.connected, violations: [] };
  }
  close(): Promise<void> {
    events.push(`close ${this.identity}`);
    return Promise.resolve();
  }
}

interface Behaviour {
  readonly failsToStart?: boolean;
  readonly hangs?: boolean;
  readonly ready?: () => string | undefined;
}

function definition(name: string, { failsToStart, hangs, ready }: Behaviour = {}): ServiceDefinition<{ size: number }> {
  return {
    name,
    config: z.object({ size: z.coerce.number().default(1) }),
    needsDatabase: false,
    module: ({ config, health, metrics }) => {
      class Lifecycle {
        onApplicationBootstrap(): void {
          if (failsToStart) throw new Error('the port is taken');
          events.push(`start ${name} ${config.size}`);
          if (ready) health.add({ name: `${name}/ready`, problem: ready });
          new Gauge({ name: `roundsman_${name}_size`, help: 'size', registers: [metrics] }).set(config.size);
        }
        async onApplicationShutdown(): Promise<void> {
          if (hangs) await new Promise(() => undefined);
          events.push(`stop ${name} ${config.size}`);
        }
      }
      class TestModule {}
      return { module: TestModule, providers: [{ provide: Lifecycle, useFactory: () => new Lifecycle() }] };
    },
  };
}

function options(more: Partial<RunOptions> = {}): RunOptions {
  events.length = 0;
  return { env: {}, log: makeLogger({ level: 'silent', format: 'json', stream: { write: () => undefined } }), connect: (identity) => Promise.resolve(new QuietBus(identity) as unknown as Bus), ...more };
}

describe('services of one process', () => {
  it('start in order and stop in reverse, connections last', async () => {
    const running = await runServices([{ definition: definition('a') }, { definition: definition('b'), env: { ROUNDSMAN_B_SIZE: '7' } }], options());
    await Promise.all([running.stop(), running.stop()]);
    expect(events).toEqual(['start a 1', 'start b 7', 'stop b 7', 'stop a 1', 'close a', 'close b']);
  });

  it('do not stay half started: those before the failed one are stopped, and the error names it', async () => {
    const work = runServices([{ definition: definition('a') }, { definition: definition('b', { failsToStart: true }) }], options());
    await expect(work).rejects.toThrow('cannot start b: the port is taken');
    expect(events).toEqual(['start a 1', 'stop a 1', 'close a', 'close b']);
  });

  it('wait for a database that is not there yet, telling so, but not for one that refuses them', async () => {
    const lines: string[] = [];
    const log = makeLogger({ level: 'warn', format: 'json', stream: { write: (line) => void lines.push(line) } });
    const refusals: Error[] = [
      new AggregateError([Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' })], ''),
      Object.assign(new Error('the database system is starting up'), { code: '57P03' }),
    ];
    const migrate = async (): Promise<void> => {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      events.push('migrated');
    };
    const all = options({ databaseUrl: 'postgres://nowhere', log });
    const running = await runServices([{ definition: { ...definition('a'), migrate } }], all);
    expect(events).toEqual(['migrated', 'start a 1']);
    expect(lines.filter((line) => line.includes('waiting for the database'))).toHaveLength(2);
    await running.stop();
    const wrong = async (): Promise<void> => Promise.reject(Object.assign(new Error('password authentication failed'), { code: '28P01' }));
    await expect(runServices([{ definition: { ...definition('a'), migrate: wrong } }], options({ databaseUrl: 'postgres://nowhere' }))).rejects.toThrow('cannot migrate the database for a: password authentication failed');
  });

  it('do not start at all when one has a bad setting', async () => {
    await expect(runServices([{ definition: definition('a') }, { definition: definition('b') }], options({ env: { ROUNDSMAN_B_SIZE: 'x' } }))).rejects.toThrow('ROUNDSMAN_B_SIZE');
    expect(events).toEqual([]);
  });

  it('close what did connect when another identity was refused', async () => {
    const connect = (identity: string): Promise<Bus> => (identity === 'b' ? Promise.reject(new Error('bad key')) : Promise.resolve(new QuietBus(identity) as unknown as Bus));
    await expect(runServices([{ definition: definition('a') }, { definition: definition('b') }], options({ connect }))).rejects.toThrow('cannot connect to NATS for b: bad key');
    expect(events).toEqual(['close a']);
  });

  it('name the one that hangs while stopping', async () => {
    const running = await runServices([{ definition: definition('a') }, { definition: definition('b', { hangs: true }) }], options({ stopWithinMs: 50 }));
    await expect(running.stop()).rejects.toThrow(/not stopped within 50 ms: .*b/);
  });

  it('that are instances of one do not wait for each other, and none stays when another fails', async () => {
    const begun: string[] = [];
    let ending = 0;
    const both = Promise.withResolvers<void>();
    const bothEnd = Promise.withResolvers<void>();
    const node = (fails?: string): ServiceDefinition<object> => ({
      ...definition('agent'),
      module: ({ health }) => {
        class Lifecycle {
          async onApplicationBootstrap(): Promise<void> {
            const name = `agent ${begun.push('begun')}`;
            health.add({ name, problem: () => undefined });
            if (begun.length === 2) both.resolve();
            await both.promise;
            if (name === fails) throw new Error('no room');
          }
          async onApplicationShutdown(): Promise<void> {
            ending += 1;
            if (ending === 2) bothEnd.resolve();
            if (fails === undefined) await bothEnd.promise;
            events.push('stopped');
          }
        }
        class TestModule {}
        return { module: TestModule, providers: [{ provide: Lifecycle, useFactory: () => new Lifecycle() }] };
      },
    });
    const runs = (definition: ServiceDefinition<object>): Parameters<typeof runServices>[0] => [{ definition, instance: 'node-1', identity: 'agent-node-1' }, { definition, instance: 'node-2', identity: 'agent-node-2' }];
    await (await runServices(runs(node()), options())).stop();
    begun.length = 0;
    await expect(runServices(runs(node('agent 1')), options())).rejects.toThrow('cannot start agent/node-1: no room');
    expect(events).toContain('stopped');
  });

  it('may be one service several times: health and metrics tell the instances apart', async () => {
    const node = definition('agent', { ready: () => undefined });
    const running = await runServices([{ definition: node, instance: 'node-1' }, { definition: node, instance: 'node-2', env: { ROUNDSMAN_AGENT_SIZE: '2' } }], options());
    expect(running.health.report().checks.map(({ name }) => name).sort()).toEqual(['agent/node-1/bus', 'agent/node-2/bus', 'node-1/agent/ready', 'node-2/agent/ready']);
    const text = await running.metrics.metrics();
    expect(text).toMatch(/roundsman_agent_size\{instance="node-1"\} 1/);
    expect(text).toMatch(/roundsman_agent_size\{instance="node-2"\} 2/);
    await running.stop();
  });
});

describe('health over HTTP', () => {
  it('is 503 with the reason while one check fails, for all and for each service', async () => {
    let problem: string | undefined = 'no database';
    const buses: QuietBus[] = [];
    const connect = (identity: string): Promise<Bus> => {
      const bus = new QuietBus(identity);
      buses.push(bus);
      return Promise.resolve(bus as unknown as Bus);
    };
    const running = await runServices([{ definition: definition('a', { ready: () => problem }) }, { definition: definition('b') }], options({ connect }));
    const server = await serveHealth({ host: '127.0.0.1', port: 0, health: running.health, metrics: running.metrics });
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
      return [response.status, await response.text()];
    };
    expect((await get('/healthz'))[0]).toBe(200);
    expect(await get('/readyz')).toEqual([503, expect.stringContaining('"problem":"no database"')]);
    expect((await get('/readyz/b'))[0]).toBe(200);
    expect((await get('/readyz/c'))[0]).toBe(404);
    problem = undefined;
    expect((await get('/readyz'))[0]).toBe(200);
    buses[1]!.connected = false;
    expect(await get('/readyz/b')).toEqual([503, expect.stringContaining('not connected to NATS')]);
    expect((await get('/metrics'))[1]).toContain('process_cpu_seconds_total');
    await server.close();
    await running.stop();
  });
});
