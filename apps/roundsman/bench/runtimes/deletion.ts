import type { Gateway } from '../gateway.ts';
import type { Target } from './target.ts';
import { createTask, gone, tasksPath } from './task.ts';

const load = { qps: 50, seconds: 300 };
const enough = 50;

/** Milliseconds from the request that deletes a task in the middle of its round. */
export interface Deletion {
  /** Until its target counted the last request. */
  readonly loadStops: number;
  /** Until neither it nor anything that was made for it is there. */
  readonly gone: number;
}

export async function deleteRunning(gateway: Gateway, target: Target, name: string): Promise<Deletion> {
  const created = await createTask(gateway, target, name, load);
  await target.reached(name, enough);
  const from = performance.timeOrigin + performance.now();
  await gateway.delete(`${tasksPath}/${name}`);
  await gone(gateway, created);
  const goneMs = performance.timeOrigin + performance.now() - from;
  const { lastMs = from } = (await target.counted())[name] ?? {};
  return { loadStops: lastMs - from, gone: goneMs };
}
