import type { RuntimeStatus } from '@roundsman/api';
import { conditionsOf } from './conditions.ts';
import type { Observation } from './observation.ts';
import { pathsOf } from './paths.ts';
import { runnersOf } from './runners.ts';

/** The whole status of a runtime from what is seen; the same sight gives the same status. */
export function runtimeStatusOf(observation: Observation): RuntimeStatus {
  const { runtime, nowMs } = observation;
  const isProcess = runtime.spec.kind === 'Process';
  const runners = isProcess ? [] : runnersOf(observation);
  const paths = isProcess ? { services: [] } : pathsOf(observation);
  const conditions = conditionsOf(observation, runners, paths);
  const processes = observation.runners.filter(({ status }) => status?.pod === undefined);
  const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  // Processes come and go with their nodes; nothing is made for them that could be waited for.
  const settled = runtime.status?.settledAt ?? (ready || isProcess || nowMs >= settlesAtMs(observation) ? new Date(nowMs).toISOString() : undefined);
  return {
    phase: runtime.metadata.deletionTimestamp !== undefined ? 'Ending' : settled === undefined ? 'Creating' : ready ? 'Ready' : 'Degraded',
    ...(settled === undefined ? {} : { settledAt: settled }),
    desired: runners.length + processes.length,
    ready: runners.filter((runner) => runner.ready).length + processes.filter(({ status }) => status?.ready === true).length,
    runners,
    paths,
    conditions,
  };
}

/** When rounds begin whatever is not ready. */
export const settlesAtMs = ({ runtime, settings }: Pick<Observation, 'runtime' | 'settings'>): number => Date.parse(runtime.metadata.creationTimestamp) + settings.runtimeWaitMs;
