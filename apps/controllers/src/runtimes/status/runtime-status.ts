import type { RuntimePaths, RuntimeRunner, RuntimeStatus } from '@roundsman/api';
import { conditionsOf } from './conditions.ts';
import { lostNodes } from './nodes.ts';
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
  const ready = isReady(conditions);
  // Processes come and go with their nodes; nothing is made for them that could be waited for.
  const settlesMs = settlesAtMs(observation, { runners, paths });
  const settled = runtime.status?.settledAt ?? (ready || isProcess || nowMs >= settlesMs ? new Date(nowMs).toISOString() : undefined);
  return {
    phase: runtime.metadata.deletionTimestamp !== undefined ? 'Ending' : settled === undefined ? 'Creating' : ready ? 'Ready' : 'Degraded',
    ...(settled !== undefined ? { settledAt: settled } : Number.isFinite(settlesMs) ? { waitsUntil: new Date(settlesMs).toISOString() } : {}),
    desired: runners.length + processes.length,
    ready: runners.filter((runner) => runner.ready).length + processes.filter(({ status }) => status?.ready === true).length,
    runners,
    paths,
    conditions,
  };
}

/** Nobody waits for a runner on a node that has not been ready for so long. */
const lostNodeMs = 10_000;

/**
 * When rounds begin whatever is not ready: a stated time after the workload was made, which may be long after the Runtime was; at once when nothing
 * lacks but the runners on nodes that are lost.
 */
export function settlesAtMs(observation: Observation, { runners, paths }: { readonly runners: readonly RuntimeRunner[]; readonly paths: RuntimePaths }): number {
  const { runtime, workload, settings } = observation;
  const made = [runtime, workload].flatMap((object) => (object === undefined ? [] : Date.parse(object.metadata.creationTimestamp)));
  const latest = Math.max(...made) + settings.runtimeWaitMs;
  const lost = lostNodes(observation.nodes);
  const others = runners.filter(({ ready, node }) => ready || !lost.has(node));
  // Pods of a Deployment find another node.
  if (runtime.spec.kind !== 'DaemonSet' || others.length === runners.length || !isReady(conditionsOf(observation, others, paths))) return latest;
  return Math.min(latest, Math.max(...runners.flatMap(({ ready, node }) => (ready ? [] : (lost.get(node) ?? [])))) + lostNodeMs);
}

const isReady = (conditions: RuntimeStatus['conditions']): boolean => conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
