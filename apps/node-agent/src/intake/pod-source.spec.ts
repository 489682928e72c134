import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { agentIdentity, endpoint, messages, serviceIdentity, type Bus, type Subscription } from '@roundsman/bus';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { PodSource } from './pod-source.ts';

/** What intake says is played by hand: which announcements come, and when a list is answered. */
describe('the pods of a node as they are told', () => {
  let nats: TestNats;
  let intake: Bus;
  let agent: Bus;
  let served: Subscription;
  let source: PodSource;
  let seen: string[];
  let record: { version: number; pods: string[] };
  const asked: (number | undefined)[] = [];
  let gate: Promise<void>;

  beforeAll(async () => {
    nats = await startNats({ identities: [serviceIdentity('intake'), agentIdentity('n1')] });
    [intake, agent] = await Promise.all([nats.connect('intake'), nats.connect('agent-n1')]);
  });
  afterAll(() => nats.stop());
  const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, uid: name } });
  beforeEach(async () => {
    seen = [];
    asked.length = 0;
    record = { version: 10, pods: ['a'] };
    gate = Promise.resolve();
    served = await intake.serve({ name: 'intake', version: '0.1.0', description: 'test' }, [
      endpoint(messages.nodePods, async ({ seen: known }) => {
        asked.push(known);
        const answer = known === record.version ? { version: record.version } : { version: record.version, pods: record.pods.map(pod) };
        await gate;
        return answer;
      }),
    ]);
    source = new PodSource(agent, 'n1', pino({ level: 'silent' }), {
      all: (pods) => void seen.push(`all ${pods.map(({ metadata }) => metadata.name).join(' ')}`),
      changed: ({ metadata }: Pod) => void seen.push(`changed ${metadata.name}`),
      gone: ({ metadata }: Pod) => void seen.push(`gone ${metadata.name}`),
    });
  });
  afterEach(async () => {
    await source.stop();
    await served.stop();
  });
  const tell = (version: number, previousOfNode: number, name: string, type: 'ADDED' | 'MODIFIED' | 'DELETED' = 'MODIFIED') => intake.publish(messages.nodePod, { node: 'n1' }, { type, version, previousOfNode, object: pod(name) });
  const heard = (wanted: string[]) => eventually(() => expect(seen).toEqual(wanted));

  it('all at the start, then each change; an old one again changes nothing', async () => {
    await source.start();
    await heard(['all a']);
    tell(12, 10, 'a');
    tell(11, 10, 'old');
    tell(15, 12, 'b', 'ADDED');
    tell(17, 15, 'a', 'DELETED');
    await heard(['all a', 'changed a', 'changed b', 'gone a']);
    expect(asked).toEqual([undefined]);
  });

  it('a missed one makes all of them be asked for', async () => {
    await source.start();
    await heard(['all a']);
    record = { version: 20, pods: ['a', 'c', 'missed'] };
    tell(20, 15, 'c', 'ADDED');
    await heard(['all a', 'changed c', 'all a c missed']);
    tell(22, 20, 'a');
    await heard(['all a', 'changed c', 'all a c missed', 'changed a']);
    expect(asked).toEqual([undefined, 10]);
  });

  it('what is told while they are listed is neither lost nor undone', async () => {
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    await source.start();
    await eventually(() => expect(asked).toHaveLength(1));
    tell(10, 8, 'a');
    tell(11, 10, 'b', 'ADDED');
    open();
    await heard(['all a', 'changed b']);
  });

  it('what was missed while they were listed is asked for, too', async () => {
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    await source.start();
    await eventually(() => expect(asked).toHaveLength(1));
    // The one at 11 is lost.
    record = { version: 12, pods: ['a', 'b', 'missed'] };
    tell(12, 11, 'b', 'ADDED');
    open();
    await heard(['all a', 'changed b', 'all a b missed']);
  });

  it('come in pages where they are many', async () => {
    await served.stop();
    served = await intake.serve({ name: 'intake', version: '0.1.0', description: 'test' }, [
      endpoint(messages.nodePods, ({ after }) => (after === undefined ? { version: 5, pods: [pod('a')], next: 'default/a' } : { version: 7, pods: [pod(`after ${after}`)] })),
    ]);
    await source.start();
    await heard(['all a after default/a']);
    // Its version is that of the first page.
    tell(6, 5, 'b');
    await heard(['all a after default/a', 'changed b']);
  });

  it('is asked for again until it is answered', async () => {
    await served.stop();
    await source.start();
    served = await intake.serve({ name: 'intake', version: '0.1.0', description: 'test' }, [endpoint(messages.nodePods, () => ({ version: 1, pods: [pod('late')] }))]);
    await heard(['all late']);
  });
});
