import { beforeEach, describe, expect, it } from '@jest/globals';
import { kindByResource, type KubeObject } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Objects } from '../objects.ts';
import type { EventObject } from './event.ts';
import { Recorder } from './recorder.ts';

/** The cache and the writer in one: what is written is seen. */
class FakeEvents {
  readonly stored = new Map<string, EventObject>();
  refusal: Error | undefined;
  get(namespace: string, name: string): EventObject | undefined {
    return this.stored.get(`${namespace}/${name}`);
  }
  create = (_cache: unknown, event: EventObject): Promise<EventObject> => this.#put(event);
  update = (_cache: unknown, event: EventObject): Promise<EventObject> => this.#put(event);
  #put(event: EventObject): Promise<EventObject> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    this.stored.set(`${event.metadata.namespace}/${event.metadata.name}`, event);
    return Promise.resolve(event);
  }
}

const object = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web', namespace: 'shop', uid: 'u1' } } as KubeObject;

describe('events', () => {
  let events: FakeEvents;
  let recorder: Recorder;
  const warnings: string[] = [];
  beforeEach(() => {
    events = new FakeEvents();
    warnings.length = 0;
    recorder = new Recorder(events as unknown as Informer, events as unknown as Objects, { warn: (_fields: object, message: string) => void warnings.push(message), debug: () => undefined } as never);
  });
  const told = (): string[] => [...events.stored.values()].map(({ count, message }) => `${count} ${message}`);

  it('are valid objects, one for each message, which counts', async () => {
    const tell = recorder.from('replicaset-controller');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-2');
    await recorder.flushed();
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    tell(object, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
    await recorder.flushed();
    expect(told()).toEqual(['3 Created pod: web-1', '1 Created pod: web-2']);
    const [event] = events.stored.values();
    expect(kindByResource.get('events')?.schema.safeParse(event).success).toBe(true);
    expect(event).toMatchObject({ type: 'Normal', reason: 'SuccessfulCreate', source: { component: 'replicaset-controller' }, involvedObject: { kind: 'ReplicaSet', name: 'web', namespace: 'shop', uid: 'u1' } });
  });

  it('of one reason become one when there are many', async () => {
    const tell = recorder.from('replicaset-controller');
    for (let pod = 0; pod < 50; pod += 1) tell(object, 'Normal', 'SuccessfulCreate', `Created pod: web-${pod}`);
    tell({ ...object, metadata: { ...object.metadata, uid: 'u2' } }, 'Normal', 'SuccessfulCreate', 'Created pod: other');
    await recorder.flushed();
    expect(told()).toHaveLength(12);
    expect(told()).toContain('40 (combined from similar events): Created pod: web-49');
  });

  it('that cannot be written stop nothing; only those that somebody would miss are complained about', async () => {
    const tell = recorder.from('replicaset-controller');
    events.refusal = new ServiceError(403, 'the namespace is being terminated');
    tell(object, 'Normal', 'A', 'a');
    await recorder.flushed();
    expect(warnings).toEqual([]);
    events.refusal = new ServiceError(503, 'too busy');
    tell(object, 'Normal', 'B', 'b');
    await recorder.flushed();
    expect(warnings).toEqual(['an event could not be written']);
    events.refusal = undefined;
    tell(object, 'Normal', 'C', 'c');
    await recorder.flushed();
    expect(told()).toEqual(['1 c']);
  });
});
