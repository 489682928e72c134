import { describe, expect, it } from '@jest/globals';
import { ServiceError, Unreachable } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { container, podOf } from '../testing/runs.ts';
import { EventRecorder } from './recorder.ts';

const pod = podOf({ containers: [container('a')], initContainers: [container('i')] });

function rig() {
  const sent: Record<string, unknown>[] = [];
  const clock = { now: Date.UTC(2026, 0, 1) };
  const failures: unknown[] = [];
  let refusal: Error | undefined;
  const recorder = new EventRecorder({
    node: 'n1',
    send: (event) => (refusal !== undefined ? Promise.reject(refusal) : Promise.resolve(void sent.push(event))),
    onError: (error) => failures.push(error),
    now: () => clock.now,
  });
  return { sent, clock, failures, recorder, refuse: (why: Error | undefined) => (refusal = why) };
}

describe('events of pods', () => {
  it('are as the kubelet writes them', async () => {
    const { sent, recorder } = rig();
    recorder.record(pod, 'Normal', 'Started', 'Started container i', 'i');
    await recorder.idle();
    expect(sent).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{16}$/), namespace: 'default' },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid: 'uid-1', resourceVersion: '1', fieldPath: 'spec.initContainers{i}' },
        type: 'Normal',
        reason: 'Started',
        message: 'Started container i',
        source: { component: 'kubelet', host: 'n1' },
        reportingComponent: 'kubelet',
        reportingInstance: 'n1',
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
      },
    ]);
  });

  it('that happen again are one, counted; a count that was not sent yet is overtaken', async () => {
    const { sent, clock, recorder } = rig();
    recorder.record(pod, 'Warning', 'Unhealthy', 'no', 'a');
    await recorder.idle();
    clock.now += 5_000;
    recorder.record(pod, 'Warning', 'Unhealthy', 'no', 'a');
    recorder.record(pod, 'Warning', 'Unhealthy', 'no', 'a');
    recorder.record(pod, 'Warning', 'Unhealthy', 'other', 'a');
    await recorder.idle();
    expect(sent.map(({ message, count, firstTimestamp, lastTimestamp }) => [message, count, firstTimestamp, lastTimestamp])).toEqual([
      ['no', 1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
      ['no', 3, '2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z'],
      ['other', 1, '2026-01-01T00:00:05Z', '2026-01-01T00:00:05Z'],
    ]);
    expect(new Set(sent.map(({ metadata }) => (metadata as { name: string }).name)).size).toBe(2);
  });

  it('come as no flood: 25 of a pod at once, then one in five minutes; another pod has its own', async () => {
    const { sent, clock, recorder } = rig();
    for (let i = 0; i < 40; i += 1) recorder.record(pod, 'Normal', 'Test', `message ${i}`);
    await recorder.idle();
    expect(sent).toHaveLength(25);
    clock.now += 600_000;
    for (let i = 0; i < 5; i += 1) recorder.record(pod, 'Normal', 'Test', `later ${i}`);
    recorder.record({ ...pod, metadata: { ...pod.metadata, uid: 'other' } }, 'Normal', 'Test', 'mine');
    await recorder.idle();
    expect(sent).toHaveLength(28);
  });

  it('one that is refused holds up no other; while nobody takes them they wait, in their order', async () => {
    const { sent, failures, recorder, refuse } = rig();
    refuse(new ServiceError(422, 'no'));
    recorder.record(pod, 'Normal', 'Refused', 'a');
    await recorder.idle();
    refuse(new Unreachable('away'));
    recorder.record(pod, 'Normal', 'First', 'a');
    recorder.record(pod, 'Normal', 'Second', 'b');
    await eventually(() => expect(failures).toHaveLength(2));
    recorder.record(pod, 'Normal', 'First', 'a');
    refuse(undefined);
    await recorder.idle();
    expect(sent.map(({ reason, count }) => `${String(reason)} ${String(count)}`)).toEqual(['First 2', 'Second 1']);
    expect(failures).toHaveLength(2);
  });
});
