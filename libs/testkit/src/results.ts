import type { Distribution, RoundResult, TargetResult } from '@roundsman/api';

/** A distribution of these microseconds, as a runner would send it. */
export function distributionOfUs(values: readonly number[]): Distribution {
  const counts = new Map<number, number>();
  for (const us of values) {
    const bucket = us > 1 ? Math.ceil(Math.log(us) / Math.log(1.02020202)) : 0;
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return {
    count: values.length,
    sumUs: values.reduce((sum, us) => sum + us, 0),
    minUs: values.length === 0 ? 0 : Math.min(...values),
    maxUs: values.length === 0 ? 0 : Math.max(...values),
    histogram: { b: sorted.map(([bucket]) => bucket), c: sorted.map(([, count]) => count) },
  };
}

/** A good HTTP endpoint target on `node`, answering every request after 1 to 2 ms; change what the test is about. */
export function targetResult(node: string, change: Partial<TargetResult> = {}): TargetResult {
  const planned = change.planned ?? 10;
  const succeeded = change.succeeded ?? planned - (change.failed ?? 0) - (change.unsent ?? 0);
  const at = '2026-11-21T10:00:00.000Z';
  return {
    target: `endpoint/v4/${node}`,
    layer: 'endpoint',
    address: 'http://127.0.0.1:8080/',
    method: 'GET',
    targetNode: node,
    family: 'v4',
    startedAt: at,
    endedAt: '2026-11-21T10:00:02.000Z',
    planned,
    sent: planned - (change.unsent ?? 0),
    unsent: 0,
    succeeded,
    failed: 0,
    bytes: succeeded * 100,
    latency: distributionOfUs(Array.from({ length: succeeded }, (_, i) => 1000 + (1000 * i) / Math.max(1, succeeded))),
    sendLag: distributionOfUs(Array.from({ length: planned }, (_, i) => 20 + i)),
    phases: { connect: { count: 1, sumUs: 150, maxUs: 150 }, firstByte: { count: succeeded, sumUs: succeeded * 900, maxUs: 1200 } },
    errors: {},
    statusCodes: succeeded > 0 ? { '200': succeeded } : {},
    replyCodes: {},
    failures: [],
    ok: true,
    ...change,
  };
}

/** What `runner` (`runner-1` on `node-1`) reports of one round: one part, whole, good, on the targets given. */
export function roundResult(runner: string, targets: readonly TargetResult[], change: Partial<RoundResult> = {}): RoundResult {
  const failed = targets.find((target) => !target.ok);
  return {
    runner,
    node: runner.replace('runner', 'node'),
    kind: 'NetReach',
    namespace: 'default',
    task: 'mesh',
    taskUid: '7b0f7a3e-0000-4000-8000-000000000001',
    round: 1,
    roundStart: '2026-11-21T10:00:00.000Z',
    part: 1,
    parts: 1,
    targets: [...targets],
    outcome: {
      state: failed === undefined ? 'ok' : 'failed',
      ...(failed?.reason === undefined ? {} : { reason: failed.reason }),
      startedAt: '2026-11-21T10:00:00.000Z',
      endedAt: '2026-11-21T10:00:02.000Z',
      targetCount: targets.length,
      starvation: { suspect: false, reasons: [], loopDelayP99Ms: 1, cpuShare: 0.05, rssBytes: 50_000_000 },
      runningLoad: { NetReach: 5 },
    },
    ...change,
  };
}
