import { beforeEach, describe, expect, it } from '@jest/globals';
import { kindByResource, type EventObject, type KubeObject } from '@roundsman/api';
import { ServiceError, Unreachable, type Bus, type Write } from '@roundsman/bus';
import { ManualClock } from './clock.ts';
import { EventRecorder } from './event-recorder.ts';

/** Stores events as intake does, and checks what it must not be asked. */
class Intake {
  readonly stored = new Map<string, EventObject>();
  readonly writes: string[] = [];
  /** Thrown before a write is done, or after it: its answer is lost. */
  before: () => void | Promise<void> = () => undefined;
  after: () => void = () => undefined;
  readonly #busy = new Set<string>();

  readonly bus = { request: (_message: unknown, _at: unknown, write: Write) => this.#write(write) } as unknown as Bus;
  read = (_resource: string, namespace: string | undefined, name: string): Promise<KubeObject | undefined> => Promise.resolve(this.stored.get(`${namespace}/${name}`) as unknown as KubeObject | undefined);

  async #write({ operation, namespace, name, object }: Write): Promise<{ object: unknown }> {
    const at = `${namespace}/${name}`;
    this.writes.push(operation);
    if (this.#busy.has(at)) throw new Error('two writes of one event at a time');
    this.#busy.add(at);
    try {
      await this.before();
    } finally {
      this.#busy.delete(at);
    }
    if (operation === 'create' && this.stored.has(at)) throw new ServiceError(409, 'already exists', { reason: 'AlreadyExists' });
    if (operation === 'update' && !this.stored.has(at)) throw new ServiceError(404, 'not found');
    const event = object as unknown as EventObject;
    if (event.metadata.resourceVersion !== undefined && operation === 'create') throw new ServiceError(400, 'resourceVersion should not be set');
    this.stored.set(at, { ...event, metadata: { ...event.metadata, uid: 'e', resourceVersion: '1' } });
    this.after();
    return { object: this.stored.get(at) };
  }
}

const object = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '9' } } as KubeObject;

describe('events', () => {
  let intake: Intake;
  let clock: ManualClock;
  const warnings: string[] = [];
  beforeEach(() => {
    intake = new Intake();
    clock = new ManualClock();
    warnings.length = 0;
  });
  const recorder = (againMs?: number): EventRecorder =>
    new EventRecorder({ bus: intake.bus, user: 'tester', read: intake.read, clock, log: { warn: (_fields, message) => void warnings.push(message), debug: () => undefined }, ...(againMs === undefined ? {} : { againMs }) });
  const told = (): string[] => [...intake.stored.values()].map(({ count, message }) => `${count} ${message}`);

  it('are valid objects, one for each message, which counts', async () => {
    const events = recorder();
    const tell = events.from('replicaset-controller');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-2');
    await events.flushed();
    await clock.advance(5_000);
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    await events.flushed();
    expect(told()).toEqual(['3 Created pod: web-1', '1 Created pod: web-2']);
    const [event] = intake.stored.values();
    expect(kindByResource.get('events')?.schema.safeParse(event).success).toBe(true);
    expect(event).toMatchObject({
      type: 'Normal', reason: 'SuccessfulCreate', source: { component: 'replicaset-controller' }, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:05Z',
      involvedObject: { kind: 'ReplicaSet', name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '9' },
    });
  });

  it('told while they are being written are counted after that, none is lost', async () => {
    const events = recorder();
    const tell = events.from('c');
    const { promise: held, resolve: free } = Promise.withResolvers<void>();
    intake.before = () => held;
    for (let i = 0; i < 5; i += 1) {
      tell(object, 'Warning', 'FailedCreate', 'no');
      await new Promise((resolve) => setImmediate(resolve));
    }
    free();
    await events.flushed();
    expect(told()).toEqual(['5 no']);
    expect(intake.writes).toEqual(['create', 'update']);
    expect(warnings).toEqual([]);
  });

  it('of one reason become one when there are many', async () => {
    const events = recorder();
    const tell = events.from('replicaset-controller');
    for (let pod = 0; pod < 50; pod += 1) tell(object, 'Normal', 'SuccessfulCreate', `Created pod: web-${pod}`);
    await events.flushed();
    expect(told()).toHaveLength(11);
    expect(told()).toContain('40 (combined from similar events): Created pod: web-49');
  });

  it('go on counting after another leader, and begin anew when they were removed', async () => {
    const first = recorder();
    first.from('c')(object, 'Normal', 'A', 'a');
    await first.flushed();
    const second = recorder();
    const tell = second.from('c');
    tell(object, 'Normal', 'A', 'a');
    tell(object, 'Normal', 'A', 'a');
    await second.flushed();
    expect(told()).toEqual(['3 a']);
    intake.stored.clear();
    tell(object, 'Normal', 'A', 'a');
    await second.flushed();
    expect(told()).toEqual(['1 a']);
  });

  it('are written again at most so often; what happened in between counts then', async () => {
    const events = recorder(60_000);
    const tell = events.from('c');
    for (let i = 0; i < 9; i += 1) {
      tell(object, 'Warning', 'A', 'a');
      await events.flushed();
      await clock.advance(15_000);
    }
    expect(intake.writes).toEqual(['create', 'update', 'update']);
    expect(told()).toEqual(['9 a']);
    // The clock was put back: that keeps nothing from being told.
    clock.skip(-3_600_000);
    tell(object, 'Warning', 'A', 'a');
    await events.flushed();
    expect(told()).toEqual(['10 a']);
  });

  it('are tried again while intake does not answer; a lost answer may count one too many, and loses none', async () => {
    const events = recorder();
    let times = 0;
    intake.before = () => {
      if (++times <= 2) throw new Unreachable('no answer from intake');
    };
    events.from('c')(object, 'Normal', 'A', 'a');
    await events.flushed();
    expect(told()).toEqual([]);
    await clock.advance(3_000);
    expect(told()).toEqual(['1 a']);
    expect(warnings).toEqual([]);
  });

  it('that cannot be written stop nothing; only those that somebody would miss are complained about', async () => {
    const events = recorder();
    const tell = events.from('c');
    intake.before = () => {
      throw new ServiceError(403, 'the namespace is being terminated');
    };
    tell(object, 'Normal', 'A', 'a');
    await events.flushed();
    expect(warnings).toEqual([]);
    intake.before = () => {
      throw new ServiceError(422, 'no');
    };
    tell(object, 'Normal', 'B', 'b');
    await events.flushed();
    expect(warnings).toEqual(['an event could not be written']);
    intake.before = () => undefined;
    tell(object, 'Normal', 'C', 'c');
    await events.flushed();
    expect(told()).toEqual(['1 c']);
  });

  it('end with the term: what was told before is written, nothing after it, nothing is tried again', async () => {
    const events = recorder();
    const tell = events.from('c');
    tell(object, 'Normal', 'A', 'a');
    events.end();
    tell(object, 'Normal', 'B', 'b');
    await events.flushed();
    expect(told()).toEqual(['1 a']);
    expect(clock.next()).toBeUndefined();
  });
});
