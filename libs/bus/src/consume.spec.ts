import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { eventually, startNats } from '@roundsman/testkit';
import type { TestNats } from '@roundsman/testkit';
import { endpoint, ensureRunnerConsumer, ensureStreams, messages, removeRunnerConsumer, runnerConsumeOptions, ServiceError, sweepDeadLetters } from './index.ts';
import type { Bus, ConsumeOptions, Delivery, Subscription } from './index.ts';

type Work = { round: number; runner: string };
const work = (round: number, runner = 'r1') => ({
  runner, node: 'n1', kind: 'NetReach' as const, namespace: 'default', task: 't', taskUid: 'u', round, roundStart: '2026-01-01T00:00:00Z', deadline: '2026-01-01T00:01:00Z',
  request: { durationMs: 1, qps: 1, timeoutMs: 1 }, expect: {}, targets: [], needsMaterials: false,
});
const workParams = (round: number, runner = 'r1') => ({ runner, kind: 'NetReach', taskUid: 'u', round });

let nats: TestNats;
let bus: Bus;
let observer: NatsConnection;
let jsm: JetStreamManager;
let subscriptions: Subscription[] = [];
const kept = async (subscription: Promise<Subscription>): Promise<Subscription> => {
  const made = await subscription;
  subscriptions.push(made);
  return made;
};
const append = (round: number, runner = 'r1') => bus.append(messages.work, workParams(round, runner), work(round, runner), { msgId: `${runner}:${round}:${Math.random()}` });
const options = (more: Partial<ConsumeOptions> = {}): ConsumeOptions => ({ durable: 'test', ackWaitMs: 30_000, maxDeliver: 3, maxAckPending: 100, create: true, ...more });
const left = async (): Promise<number> => (await jsm.streams.info('WORK')).state.messages;

interface Letter {
  readonly subject: string;
  readonly reason: string;
  readonly message: string;
  readonly deliveries: number;
  readonly data: string;
}
async function deadLetters(): Promise<{ at: string; letter: Letter }[]> {
  const { state } = await jsm.streams.info('DLQ');
  const letters: { at: string; letter: Letter }[] = [];
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
    const stored = await jsm.streams.getMessage('DLQ', { seq });
    if (stored !== null) letters.push({ at: stored.subject, letter: stored.json<Letter>() });
  }
  return letters;
}

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('scheduler');
  observer = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  jsm = await jetstreamManager(observer, { checkAPI: false, timeout: 1_000 });
  await ensureStreams(bus);
});
afterEach(async () => {
  for (const subscription of subscriptions) await subscription.stop();
  subscriptions = [];
  // The observer may still be on its way back from a server that died.
  await eventually(() => jsm.getAccountInfo());
  for await (const { name } of jsm.consumers.list('WORK')) await jsm.consumers.delete('WORK', name);
  for (const stream of ['WORK', 'RESULT', 'REPORT', 'DLQ']) await jsm.streams.purge(stream);
});
afterAll(async () => {
  await observer.close();
  await nats.stop();
});

describe('consume', () => {
  it('hands over in batches, and what is acknowledged is gone', async () => {
    for (let round = 1; round <= 25; round += 1) await append(round);
    const batches: number[] = [];
    const rounds: number[] = [];
    await kept(
      bus.consume(messages.work, options({ batch: 10, batchMs: 3_000 }), async (batch) => {
        batches.push(batch.length);
        for (const delivery of batch) {
          rounds.push(delivery.payload.round);
          expect(delivery.params).toEqual({ runner: 'r1', kind: 'netreach', taskUid: 'u', round: String(delivery.payload.round) });
          expect(delivery).toMatchObject({ deliveries: 1, bytes: expect.any(Number) });
          await delivery.ack();
        }
      }),
    );
    await eventually(async () => expect(await left()).toBe(0));
    expect(batches).toEqual([10, 10, 5]);
    expect(rounds).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  });

  it('shares the messages of one durable over its instances', async () => {
    const second = await nats.connect('scheduler');
    const seen: [number, number][] = [];
    const working = new Set<number>();
    const both = Promise.withResolvers<void>();
    for (const [index, instance] of [bus, second].entries()) {
      await kept(
        instance.consume(messages.work, options(), async ([delivery]) => {
          working.add(index);
          if (working.size === 2) both.resolve();
          // Whoever was quicker must not have them all before the other one is there.
          await both.promise;
          seen.push([index, delivery?.payload.round ?? 0]);
          await delivery?.ack();
        }),
      );
    }
    for (let round = 1; round <= 20; round += 1) await append(round);
    await eventually(async () => expect(await left()).toBe(0));
    expect(seen.map(([, round]) => round).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(new Set(seen.map(([index]) => index)).size).toBe(2);
  });

  it('tries again after a throwing handler, then keeps the message with the last error as a dead letter', async () => {
    const deliveries: number[] = [];
    await kept(
      bus.consume(messages.work, options({ maxDeliver: 2 }), async ([delivery]) => {
        deliveries.push(delivery?.deliveries ?? 0);
        throw new Error('no room');
      }),
    );
    await append(1);
    await eventually(async () => expect(await left()).toBe(0));
    expect(deliveries).toEqual([1, 2]);
    expect(await deadLetters()).toEqual([
      {
        at: 'rounds.v1.dlq.WORK.test.handler',
        letter: expect.objectContaining({ subject: 'rounds.v1.work.r1.netreach.u.1', reason: 'handler', message: 'no room', deliveries: 2, data: expect.stringContaining('"taskUid":"u"') }),
      },
    ]);
  });

  it('keeps a message that nobody settles as a dead letter, without another hand-over', async () => {
    const deliveries: number[] = [];
    await kept(bus.consume(messages.work, options({ maxDeliver: 2, ackWaitMs: 1_000 }), async ([delivery]) => void deliveries.push(delivery?.deliveries ?? 0)));
    await append(1);
    await eventually(async () => expect((await deadLetters()).map(({ letter }) => letter.reason)).toEqual(['max-deliver']));
    await eventually(async () => expect(await left()).toBe(0));
    expect(deliveries).toEqual([1, 2]);
  });

  it('keeps what its schema refuses as a dead letter at once and goes on', async () => {
    const rounds: number[] = [];
    await kept(
      bus.consume(messages.work, options(), async ([delivery]) => {
        rounds.push(delivery?.payload.round ?? 0);
        await delivery?.ack();
      }),
    );
    const person = await connect({ servers: nats.url });
    person.publish('rounds.v1.work.r1.netreach.u.1', 'not json');
    person.publish('rounds.v1.work.r1.netreach.u.2', '{"runner":7}');
    await person.drain();
    await append(3);
    await eventually(async () => expect(await left()).toBe(0));
    expect(rounds).toEqual([3]);
    const letters = await deadLetters();
    expect(letters.map(({ at }) => at)).toEqual(['rounds.v1.dlq.WORK.test.invalid', 'rounds.v1.dlq.WORK.test.invalid']);
    expect(letters[0]?.letter).toMatchObject({ data: 'not json', deliveries: 1 });
    expect(letters[1]?.letter.message).toContain('runner');
  });

  it('rejects and retries as the handler says, and keeps a message while the handler is at it', async () => {
    const seen: string[] = [];
    let held: Delivery<Work> | undefined;
    await kept(
      bus.consume(messages.work, options({ ackWaitMs: 1_500, maxDeliver: 2 }), async ([delivery]) => {
        if (delivery === undefined) return;
        seen.push(`${delivery.payload.round}/${delivery.deliveries}`);
        if (delivery.payload.round === 1) await delivery.reject('bad-target', 'no such target');
        else if (delivery.payload.round === 2 && delivery.deliveries === 1) delivery.retry(50);
        else if (delivery.payload.round === 3) held = delivery;
        else await delivery.ack();
      }),
    );
    for (const round of [1, 2, 3]) await append(round);
    await eventually(() => held !== undefined);
    // Twice its ack wait.
    for (let count = 0; count < 12; count += 1) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      held?.working();
    }
    await held?.ack();
    await eventually(async () => expect(await left()).toBe(0));
    expect(seen.sort()).toEqual(['1/1', '2/1', '2/2', '3/1']);
    expect((await deadLetters()).map(({ letter }) => letter)).toEqual([expect.objectContaining({ reason: 'bad-target', message: 'no such target' })]);
  });

  it('never fetches more than two batches ahead of a handler that is busy', async () => {
    for (let round = 1; round <= 30; round += 1) await append(round);
    let release = (): void => {};
    const busy = new Promise<void>((resolve) => (release = resolve));
    await kept(
      bus.consume(messages.work, options({ batch: 2 }), async (batch) => {
        await busy;
        for (const delivery of batch) await delivery.ack();
      }),
    );
    await eventually(async () => expect((await jsm.consumers.info('WORK', 'test')).num_ack_pending).toBeGreaterThan(2));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await jsm.consumers.info('WORK', 'test')).num_ack_pending).toBeLessThanOrEqual(14);
    release();
    await eventually(async () => expect(await left()).toBe(0));
  });

  it('makes its durable anew when somebody deletes it', async () => {
    const rounds: number[] = [];
    await kept(
      bus.consume(messages.work, options(), async ([delivery]) => {
        rounds.push(delivery?.payload.round ?? 0);
        await delivery?.ack();
      }),
    );
    await append(1);
    // Its ack is in: it does not come again.
    await eventually(async () => expect(await left()).toBe(0));
    expect(rounds).toEqual([1]);
    await jsm.consumers.delete('WORK', 'test');
    await append(2);
    await eventually(() => expect(rounds).toEqual([1, 2]));
  });

  it('gives back what it fetched and did not begin when it stops', async () => {
    for (const round of [1, 2, 3]) await append(round);
    let release = (): void => {};
    const busy = new Promise<void>((resolve) => (release = resolve));
    const first: number[] = [];
    const subscription = await bus.consume(messages.work, options(), async ([delivery]) => {
      first.push(delivery?.payload.round ?? 0);
      await busy;
      await delivery?.ack();
    });
    await eventually(async () => expect([first, (await jsm.consumers.info('WORK', 'test')).num_ack_pending]).toEqual([[1], 3]));
    // An answer on the same connection: what the server had sent before has come.
    await append(4, 'r2');
    const stopped = subscription.stop();
    release();
    await stopped;
    const second: number[] = [];
    await kept(
      bus.consume(messages.work, options(), async ([delivery]) => {
        second.push(delivery?.payload.round ?? 0);
        await delivery?.ack();
      }),
    );
    await eventually(() => expect(second.sort()).toEqual([2, 3]));
    expect(first).toEqual([1]);
  });
});

describe('when the server dies', () => {
  it('goes on with what was not acknowledged after a SIGKILL, and appends wait for it', async () => {
    const rounds = new Set<number>();
    await kept(
      bus.consume(messages.work, options(), async ([delivery]) => {
        if (delivery === undefined) return;
        await delivery.ack();
        rounds.add(delivery.payload.round);
      }),
    );
    await append(1);
    await eventually(() => expect([...rounds]).toEqual([1]));
    await nats.kill('SIGKILL');
    await eventually(() => expect(bus.health().connected).toBe(false));
    await nats.restart();
    // It takes a moment until the client tries again.
    await append(2);
    expect(bus.health().connected).toBe(true);
    await append(3);
    await eventually(() => expect([...rounds].sort()).toEqual([1, 2, 3]));
  });

  it('fails calls at once or in bounded time, and drops core messages with a count', async () => {
    await nats.kill('SIGKILL');
    await eventually(() => expect(bus.health().connected).toBe(false));
    const dropped = bus.health().counts?.dropped ?? 0;
    const started = performance.now();
    for (let count = 0; count < 100; count += 1) bus.publish(messages.nodeCancel, { node: 'n' }, { taskUid: 'u', reason: 'r' });
    expect(bus.health().counts?.dropped).toBe(dropped + 100);
    await expect(append(1)).rejects.toThrow(/no connection/);
    await expect(bus.request(messages.get, {}, { resource: 'nodes', name: 'n' }, { timeoutMs: 200 })).rejects.toThrow(/no connection/);
    expect(performance.now() - started).toBeLessThan(30_000);
    await nats.restart();
    await eventually(() => expect(bus.health().connected).toBe(true));
  });

  it('keeps no more than it should for a server that stands still, and goes on when it moves again', async () => {
    const reason = 'x'.repeat(1 << 20);
    const before = bus.health().counts?.dropped ?? 0;
    let heard = 0;
    await kept(bus.subscribe(messages.nodeCancel, {}, () => void (heard += 1)));
    nats.pause();
    try {
      for (let count = 0; count < 100; count += 1) {
        bus.publish(messages.nodeCancel, { node: 'n' }, { taskUid: 'u', reason });
        if (count % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(bus.health()).toMatchObject({ connected: true });
      expect((bus.health().counts?.dropped ?? 0) - before).toBe(100 - 63);
      await expect(bus.append(messages.work, workParams(1), { ...work(1), task: reason }, { msgId: 'much' })).rejects.toThrow(/does not keep up/);
    } finally {
      nats.resume();
    }
    await eventually(() => expect(heard).toBe(63), { within: 60_000 });
    let round = 1;
    await eventually(async () => expect(await append((round += 1))).toMatchObject({ duplicate: false }));
  });

  it('fails a request that is under way when the connection breaks', async () => {
    const server = await nats.connect('intake');
    let asked = false;
    await kept(
      server.subscribe(messages.nodeCancel, {}, () => {}), // keeps the server's side of the connection in use
    );
    const person = await connect({ servers: nats.url });
    person.subscribe('rounds.v1.svc.intake.get', { callback: () => void (asked = true) });
    await person.flush();
    const outcome = bus.request(messages.get, {}, { resource: 'nodes', name: 'n' }, { timeoutMs: 60_000 }).catch((error: unknown) => error);
    await eventually(() => asked);
    await nats.kill('SIGKILL');
    expect(await outcome).toMatchObject({ name: 'Unreachable', message: expect.stringContaining('unknown') });
    await person.close();
    await nats.restart();
    await eventually(() => expect(bus.health().connected).toBe(true));
  });

  it('has begun what it was beginning, and can end it: nobody is left behind to answer after the reconnect', async () => {
    const info = { name: 'intake', version: '1.0.0', description: 'x' };
    const server = await nats.connect('intake');
    nats.pause();
    const old = server.serve(info, [endpoint(messages.get, () => { throw new ServiceError(503, 'no longer the leader'); })]);
    const heard: string[] = [];
    const watching = server.subscribe(messages.nodeCancel, {}, () => void heard.push('old'));
    await nats.kill('SIGKILL');
    await (await old).stop();
    await kept(watching);
    await nats.restart();
    await eventually(() => expect([server.health().connected, bus.health().connected]).toEqual([true, true]));
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
    await kept(server.serve(info, [endpoint(messages.get, () => node)]));
    for (let count = 0; count < 40; count += 1) expect(await bus.request(messages.get, {}, { resource: 'nodes', name: 'n' })).toEqual(node);
    bus.publish(messages.nodeCancel, { node: 'n' }, { taskUid: 'u', reason: 'r' });
    await eventually(() => expect(heard).toEqual(['old']));
    await server.close();
  });

  it('makes streams and durables anew when the store was wiped under a live consumer and a live replay', async () => {
    await ensureRunnerConsumer(bus, 'r1');
    const rounds: number[] = [];
    await kept(
      bus.consume(messages.result, options({ durable: 'reporter' }), async (batch) => {
        for (const delivery of batch) {
          rounds.push(delivery.payload.round);
          await delivery.ack();
        }
      }),
    );
    const replayed: number[] = [];
    await kept(bus.replay(messages.report, {}, { afterSeq: 0 }, ({ payload }) => void replayed.push(payload.round)));
    const result = (round: number) =>
      bus.append(
        messages.result,
        { runner: 'r1', kind: 'NetReach', taskUid: 'u', round },
        { runner: 'r1', node: 'n1', kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round, roundStart: '2026-01-01T00:00:00Z', part: 1, parts: 1, targets: [] },
        { msgId: `u:${round}:r1:1` },
      );
    const report = (round: number) =>
      bus.append(
        messages.report,
        { kind: 'NetReach', namespace: 'default', task: 't' },
        {
          kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round, roundStart: '2026-01-01T00:00:00Z', closedAt: '2026-01-01T00:00:00Z', state: 'succeed',
          verdict: { state: 'healthy', summary: '' }, totals: { planned: 0, sent: 0, succeeded: 0, failed: 0, unsent: 0 }, nodes: { succeeded: [], failed: [], missing: [] },
        },
        { msgId: `report:${round}` },
      );
    for (const round of [1, 2]) {
      await result(round);
      await report(round);
    }
    await eventually(() => expect([rounds, replayed]).toEqual([[1, 2], [1, 2]]));

    await nats.wipe();
    await eventually(() => result(3), { within: 30_000 });
    await eventually(() => report(3), { within: 30_000 });
    await eventually(() => expect([rounds, replayed]).toEqual([[1, 2, 3], [1, 2, 3]]), { within: 60_000 });
    // Those, too, that nothing was stored in: made one after the other, and emptied after each test.
    for (const stream of ['WORK', 'DLQ']) await eventually(() => jsm.streams.info(stream), { within: 30_000 });
  });
});

describe("a runner's durable", () => {
  it('gives a runner its own work only, and takes what is left with it when removed', async () => {
    for (const runner of ['r.1', 'r.2']) {
      await ensureRunnerConsumer(bus, runner);
      await ensureRunnerConsumer(bus, runner);
      await append(1, runner);
    }
    const got: string[] = [];
    const subscription = await bus.consume(messages.work, runnerConsumeOptions('r.1'), async ([delivery]) => {
      got.push(delivery?.payload.runner ?? '');
      await delivery?.ack();
    });
    await eventually(async () => expect(await left()).toBe(1));
    expect(got).toEqual(['r.1']);
    await subscription.stop();
    await removeRunnerConsumer(bus, 'r.2');
    await removeRunnerConsumer(bus, 'r.2');
    expect(await left()).toBe(0);
  });

  it('may be made after the runner began to wait for it', async () => {
    const got: number[] = [];
    await kept(
      bus.consume(messages.work, runnerConsumeOptions('late'), async ([delivery]) => {
        got.push(delivery?.payload.round ?? 0);
        await delivery?.ack();
      }),
    );
    await append(5, 'late');
    await ensureRunnerConsumer(bus, 'late');
    await eventually(() => expect(got).toEqual([5]));
  });
});

describe('sweepDeadLetters', () => {
  it('moves what the server gave up on, and nothing else', async () => {
    // A consumer that dies each time before it settles: the server's own limit, which `consume` never reaches.
    await jsm.consumers.add('WORK', { durable_name: 'doomed', ack_policy: 'explicit', max_deliver: 1, ack_wait: 200e6, filter_subject: 'rounds.v1.work.doomed.*.*.*' });
    await ensureRunnerConsumer(bus, 'fine');
    await append(1, 'doomed');
    await append(1, 'fine');
    expect(await sweepDeadLetters(bus)).toBe(0);
    const person = await connect({ servers: nats.url });
    const pull = async (): Promise<void> => {
      const inbox = person.subscribe('pulled', { max: 1 });
      person.publish('$JS.API.CONSUMER.MSG.NEXT.WORK.doomed', JSON.stringify({ batch: 1, expires: 300e6 }), { reply: 'pulled' });
      for await (const _ of inbox) break;
    };
    await pull();
    await eventually(async () => {
      await pull();
      return (await sweepDeadLetters(bus)) === 1;
    });
    await person.close();
    expect(await sweepDeadLetters(bus)).toBe(0);
    expect(await left()).toBe(1);
    expect((await deadLetters()).map(({ at, letter }) => [at, letter.subject])).toEqual([['rounds.v1.dlq.WORK.doomed.max-deliver', 'rounds.v1.work.doomed.netreach.u.1']]);
  });
});
