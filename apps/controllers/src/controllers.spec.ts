import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endpoint, messages, type Bus, type Write } from '@roundsman/bus';
import { Health, makeLogger, ProcessMetrics } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { Controllers } from './controllers.ts';
import { settingsSchema } from './settings.ts';
import { intercepted } from './testing/intercepted-bus.ts';

let postgres: TestPostgres;
let nats: TestNats;
beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres({ prepare: migrateStore }), startNats()]);
});
afterAll(() => Promise.all([postgres.stop(), nats.stop()]));

/** A bus whose subscription to node heartbeats is refused a few times, after everything before it was granted. */
function refusing(bus: Bus, times: number): { bus: Bus; left: () => number } {
  let left = times;
  return {
    bus: intercepted(bus, {
      subscribe: (next, message, ...rest) => {
        if (message !== messages.nodeBeat || left === 0) return next(message, ...rest);
        left -= 1;
        return Promise.reject(new Error('the connection to NATS broke'));
      },
    }),
    left: () => left,
  };
}

describe('Controllers', () => {
  it('leave nothing running when they cannot begin: one lifecycle acts on a heartbeat, however often it was tried', async () => {
    const [intake, own, runner] = await Promise.all([nats.connect('intake'), nats.connect('controllers'), nats.connect('runner')]);
    const writes: Write[] = [];
    await intake.serve({ name: 'intake', version: '1.0.0', description: 'x' }, [
      endpoint(messages.write, (write) => {
        writes.push(write);
        const object = write.object as { metadata: object };
        // Never heard of again on the feed: whoever made it knows it, a leftover loop would make it once more.
        return { object: { apiVersion: 'v1', kind: 'X', ...object, metadata: { name: write.name ?? '', ...object.metadata, uid: `uid-${write.name}`, resourceVersion: String(writes.length), creationTimestamp: '2026-01-01T00:00:00Z' } }, warnings: [] };
      }),
    ]);
    const { bus, left } = refusing(own, 2);
    const log = makeLogger({ level: 'fatal', format: 'json' });
    const controllers = new Controllers({ config: settingsSchema.parse({}), bus, databaseUrl: await postgres.createDatabase(), log, metrics: new ProcessMetrics(), health: new Health() } as never);
    await controllers.onApplicationBootstrap();
    try {
      const beat = { runner: 'r', node: 'n', runtime: 'default', instance: 'i', version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1 };
      const send = (): void => runner.publish(messages.runnerBeat, { node: 'n', runner: 'r' }, { ...beat, sentAt: new Date().toISOString() });
      const made = (resource: string): Write[] => writes.filter((write) => write.resource === resource);
      await eventually(() => expect(left()).toBe(1));
      // Heard by nobody: this instance does not lead now.
      send();
      await eventually(() => expect(left()).toBe(0));
      expect(writes).toEqual([]);
      await eventually(
        () => {
          send();
          expect(made('events')).toHaveLength(1);
        },
        { within: 10_000 },
      );
      expect(made('runners.roundsman.io').map(({ operation, name }) => `${operation} ${name}`)).toEqual(['create r']);
    } finally {
      await controllers.onApplicationShutdown();
    }
  });
});
