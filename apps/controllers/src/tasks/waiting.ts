import { countsFromMs, nextStart, timingOf, type AnyTask, type Condition, type NetDnsSpec } from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';
import type { Carrier } from './carrier.ts';

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** Nobody waits longer for a start of a grid or a cron expression: it is missed by then, or was never promised (the task was suspended). */
const patienceMs = 60_000;

/** The start that has come and has no round yet, milliseconds; undefined when the next one is still to come. */
export function dueMs({ spec: { schedule } }: AnyTask, fromMs: number, lastScheduledMs: number | undefined, nowMs: number): number | undefined {
  const after = timingOf(schedule).form === 'once' ? lastScheduledMs : Math.max(lastScheduledMs ?? Number.NEGATIVE_INFINITY, nowMs - patienceMs);
  const due = nextStart(schedule, fromMs, after === Number.NEGATIVE_INFINITY ? undefined : after);
  return due !== undefined && due <= nowMs ? due : undefined;
}

/** What round `number` lacks before it can begin; undefined when it has all. `due`: when it was to start. */
export function lacks(task: AnyTask, carrier: Carrier, number: number, due: number | undefined): Draft | undefined {
  const whose = `Round ${number}${due === undefined ? '' : `, due at ${wholeSeconds(due)},`}`;
  const no = (reason: string, message: string): Draft => ({ type: 'Scheduled', status: 'False', reason, message: `${whose} ${message}` });
  const { conditions = [], ready = 0 } = carrier.runtime?.status ?? {};
  const why = (type: string): string => conditions.find((one) => one.type === type && one.status !== 'True')?.message ?? '';
  if (countsFromMs(task, carrier) === undefined) return no('WaitingForRuntime', `waits for its runtime, until it is ready or was waited for long enough (ROUNDSMAN_CONTROLLERS_RUNTIME_WAIT_MS)${after(why('Ready'))}`);
  if (carrier.runtime !== undefined && ready === 0) return no('WaitingForRunner', `waits for a first ready runner, and begins without one when it was waited for long enough (ROUNDSMAN_SCHEDULER_NO_RUNNER_WAIT_MS)${after(why('WorkloadReady'))}`);
  const targets = targetsLacking(task);
  if (targets !== undefined) return no('WaitingForTargets', targets);
  // Their pods are ready: they may be heard any moment.
  const silent = conditions.find(({ reason }) => reason === 'RunnersSilent')?.message;
  return silent === undefined ? undefined : no('WaitingForRunner', `waits a while for runners that are not heard yet: ${silent}`);
}

/** Of a NetDNS that asks servers which the controllers find. */
function targetsLacking({ kind, metadata, spec, status }: AnyTask): string | undefined {
  if (kind !== 'NetDNS' || (spec as NetDnsSpec).target.targetDns === undefined) return undefined;
  const found = status?.conditions?.find(({ type }) => type === 'TargetsFound');
  if (found === undefined || (found.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'waits until it is known which DNS servers to ask.';
  if (found.status === 'True') return undefined;
  return `waits for its DNS servers, and begins without when they were waited for long enough (ROUNDSMAN_SCHEDULER_NO_RUNNER_WAIT_MS)${after(found.message)}`;
}

const after = (why: string): string => (why === '' ? '.' : `: ${why}`);
