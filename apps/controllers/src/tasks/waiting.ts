import { countsFromMs, nextStart, timingOf, type AnyTask, type Condition, type NetDnsSpec } from '@roundsman/api';
import type { Settings } from '../settings.ts';
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

/** How long rounds wait, milliseconds: for a runtime to settle, and then for a first ready runner. */
export type Patience = Pick<Settings, 'runtimeWaitMs' | 'noRunnerWaitMs'>;

/** What round `number` lacks before it can begin, and until when it waits; undefined when it has all. `due`: when it was to start; of a run-now there is none. */
export function lacks(task: AnyTask, carrier: Carrier, number: number, due: number | undefined, { runtimeWaitMs, noRunnerWaitMs }: Patience): Draft | undefined {
  const whose = `Round ${number}${due === undefined ? '' : `, due at ${wholeSeconds(due)},`}`;
  const no = (reason: string, message: string): Draft => ({ type: 'Scheduled', status: 'False', reason, message: `${whose} ${message}` });
  const { conditions = [], ready = 0 } = carrier.runtime?.status ?? {};
  const why = (type: string): string => conditions.find((one) => one.type === type && one.status !== 'True')?.message ?? '';
  const latest = due === undefined ? `${noRunnerWaitMs / 1000} s after it was asked for` : `at ${wholeSeconds(due + noRunnerWaitMs)}`;
  const without = `and begins without ${latest} at the latest (ROUNDSMAN_SCHEDULER_NO_RUNNER_WAIT_MS)`;
  if (countsFromMs(task, carrier) === undefined) {
    const until = carrier.runtime?.status?.waitsUntil;
    const end = until === undefined ? `for ${runtimeWaitMs / 1000} s at the most, once its workload is made` : `until ${wholeSeconds(Date.parse(until))} at the latest`;
    return no('WaitingForRuntime', `waits for its runtime to be ready, ${end} (ROUNDSMAN_CONTROLLERS_RUNTIME_WAIT_MS)${after(why('Ready'))}`);
  }
  if (carrier.runtime !== undefined && ready === 0) return no('WaitingForRunner', `waits for a first ready runner, ${without}${after(why('WorkloadReady'))}`);
  const targets = targetsLacking(task, without);
  if (targets !== undefined) return no('WaitingForTargets', targets);
  // Their pods are ready: they may be heard any moment.
  const silent = conditions.find(({ reason }) => reason === 'RunnersSilent')?.message;
  return silent === undefined ? undefined : no('WaitingForRunner', `waits for runners that are not heard yet, ${latest} at the latest it begins without (ROUNDSMAN_SCHEDULER_HEARTBEAT_WAIT_MS, usually sooner): ${silent}`);
}

/** Of a NetDNS that asks servers which the controllers find. */
function targetsLacking({ kind, metadata, spec, status }: AnyTask, without: string): string | undefined {
  if (kind !== 'NetDNS' || (spec as NetDnsSpec).target.targetDns === undefined) return undefined;
  const found = status?.conditions?.find(({ type }) => type === 'TargetsFound');
  if (found === undefined || (found.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'waits until it is known which DNS servers to ask.';
  if (found.status === 'True') return undefined;
  return `waits for its DNS servers, ${without}${after(found.message)}`;
}

const after = (why: string): string => (why === '' ? '.' : `: ${why}`);
