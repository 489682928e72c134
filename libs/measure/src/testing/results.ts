import { targetResultSchema, type ProbeErrorCode, type SuccessCondition, type TargetResult } from '@roundsman/api';
import { DistributionCollector } from '../distribution.ts';
import { judge } from '../success.ts';

/** What a made-up target result shall say; what is left out is zero. */
export interface ResultOptions {
  node?: string;
  interface?: string;
  /** What was addressed; made from the target's name when left out. */
  address?: string;
  layer?: TargetResult['layer'];
  family?: 'v4' | 'v6';
  latenciesUs?: number[];
  sendLagsUs?: number[];
  failed?: number;
  /** When the first request failed; RFC 3339. */
  failedAt?: string;
  /** How long a failed request took. */
  failedAfterMs?: number;
  /** Requests that were under way when the round was broken off. */
  canceled?: number;
  error?: ProbeErrorCode;
  unsent?: number;
  statusCodes?: Record<string, number>;
  replyCodes?: Record<string, number>;
  message?: string;
  expect?: SuccessCondition;
}

/** A consistent target result for tests: judged by the same rules as a measured one. */
export function resultOf(target: string, options: ResultOptions): TargetResult {
  const { latenciesUs = [], failed = 0, unsent = 0, canceled = 0, error = 'timeout', expect = { successRate: 1 } } = options;
  const latency = new DistributionCollector();
  for (const us of latenciesUs) latency.add(us);
  const sendLag = new DistributionCollector();
  for (const us of options.sendLagsUs ?? []) sendLag.add(us);
  const succeeded = latenciesUs.length;
  const planned = succeeded + failed + canceled + unsent;
  const data = latency.toData();
  const { ok, reason } = judge({ planned, unsent, succeeded, latency: data }, expect);
  const at = '2026-01-02T03:04:05.000Z';
  return targetResultSchema.parse({
    target,
    layer: options.layer ?? (options.node === undefined ? 'url' : 'endpoint'),
    address: options.address ?? `http://${target}`,
    method: 'GET',
    ...(options.node === undefined ? {} : { targetNode: options.node }),
    ...(options.interface === undefined ? {} : { interface: options.interface }),
    ...(options.family === undefined ? {} : { family: options.family }),
    startedAt: at,
    endedAt: at,
    planned,
    sent: succeeded + failed + canceled,
    unsent,
    succeeded,
    failed: failed + canceled,
    bytes: 0,
    latency: data,
    sendLag: sendLag.toData(),
    phases: {},
    errors: { ...(failed > 0 ? { [error]: failed } : {}), ...(canceled > 0 ? { canceled } : {}) },
    statusCodes: options.statusCodes ?? (succeeded > 0 ? { '200': succeeded } : {}),
    replyCodes: options.replyCodes ?? {},
    failures: failed > 0 ? [{ at: options.failedAt ?? at, code: error, message: options.message ?? error, latencyUs: (options.failedAfterMs ?? 0) * 1000 }] : [],
    ok,
    ...(reason === undefined ? {} : { reason }),
  });
}
