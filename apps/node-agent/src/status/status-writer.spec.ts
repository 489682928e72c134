import { describe, expect, it } from '@jest/globals';
import type { Pod, PodStatus } from '@roundsman/api';
import { eventually } from '@roundsman/testkit';
import { PodIsGone } from '../intake/node-intake.ts';
import { StatusWriter } from './status-writer.ts';

const phase = (text: string): PodStatus => ({ phase: text as 'Running' });

function rig() {
  const writes: { status: PodStatus; done: (error?: Error) => void }[] = [];
  const gone: number[] = [];
  const writer = new StatusWriter({
    send: (status) => new Promise<Pod | undefined>((resolve, reject) => void writes.push({ status, done: (error) => (error === undefined ? resolve(undefined) : reject(error)) })),
    onStored: () => undefined,
    onGone: () => void gone.push(1),
    onError: () => undefined,
  });
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  return { writes, gone, writer, tick };
}

describe('the status of a pod is written', () => {
  it('at once, one after the other, the newest; what is the same is not', async () => {
    const { writes, writer, tick } = rig();
    writer.set(phase('Pending'), undefined);
    await tick();
    writer.set(phase('Pending'), undefined);
    writer.set(phase('Running'), undefined);
    writer.set(phase('Failed'), undefined);
    await tick();
    expect(writes.map(({ status }) => status.phase)).toEqual(['Pending']);
    writes[0]!.done();
    await tick();
    expect(writes.map(({ status }) => status.phase)).toEqual(['Pending', 'Failed']);
    const settled = writer.settled();
    writes[1]!.done();
    await settled;
    writer.set(phase('Failed'), undefined);
    await tick();
    expect(writes).toHaveLength(2);
  });

  it('not when it is stored already', async () => {
    const { writes, writer, tick } = rig();
    writer.set({ phase: 'Running', message: undefined }, { phase: 'Running' });
    await tick();
    expect(writes).toEqual([]);
    writer.set(phase('Failed'), { phase: 'Running' });
    await tick();
    expect(writes).toHaveLength(1);
  });

  it('again after a failure, and no more once the pod is gone', async () => {
    const { writes, gone, writer, tick } = rig();
    writer.set(phase('Running'), undefined);
    await tick();
    writes[0]!.done(new Error('away'));
    await eventually(() => expect(writes).toHaveLength(2));
    writes[1]!.done(new PodIsGone('gone'));
    await writer.settled();
    writer.set(phase('Failed'), undefined);
    await tick();
    expect([writes.length, gone.length]).toEqual([2, 1]);
  });
});
