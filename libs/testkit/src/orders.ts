import type { WorkOrder } from '@roundsman/api';

/** A work order for runner `r-1` on `node-1`, due now; without targets unless you name some. */
export function workOrder(change: Partial<WorkOrder> = {}): WorkOrder {
  const start = Date.now();
  return {
    runner: 'r-1',
    node: 'node-1',
    kind: 'NetReach',
    namespace: 'default',
    task: 'task',
    taskUid: 'uid-1',
    round: 1,
    roundStart: new Date(start).toISOString(),
    deadline: new Date(start + 60_000).toISOString(),
    request: { durationMs: 1_000, qps: 5, timeoutMs: 500 },
    expect: {},
    targets: [],
    needsMaterials: false,
    ...change,
  };
}

/** An object as a user would write it: no uid, no version, no status. */
export function manifest(kind: string, name: string, spec: object = {}, namespace = 'default'): Record<string, unknown> & { metadata: { name: string; namespace: string } } {
  return { apiVersion: 'roundsman.io/v1', kind, metadata: { name, namespace }, spec };
}
