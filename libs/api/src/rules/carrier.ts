import type { AgentSpec } from '../kinds/agent-spec.ts';
import type { Runtime } from '../kinds/runtime/schema.ts';
import type { Runner } from '../kinds/task.ts';
import type { ObjectMeta } from '../meta.ts';
import { requiredNodes } from '../node-selector.ts';
import type { TaskKind } from '../round/work.ts';
import { defaultRuntime, runtimeNameOf } from '../runtimes.ts';
import { knownCapabilities, storedNodes, storedRuntime, type Stored } from './cluster.ts';

/** Who carries a task, as far as it is there. */
export interface Carrier {
  readonly runtime: Runtime | undefined;
  /** Those of its runners that are ready. */
  readonly runners: readonly Runner[];
  /** Runners that it has, or is known to get. */
  readonly size: number;
}

export function carrierOf(kind: TaskKind, { metadata, spec }: { readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>; readonly spec: { readonly agentSpec?: AgentSpec | undefined } }, stored: Stored): Carrier {
  const { agentSpec } = spec;
  // What has no name is refused for that.
  const { name = '', namespace = '', uid = '' } = metadata;
  const own = agentSpec !== undefined && knownCapabilities(stored).workloads;
  const runtime = own ? { namespace, name: runtimeNameOf(kind, name, uid) } : defaultRuntime;
  const runners = (stored.list('runners.roundsman.io') as readonly Runner[]).filter(({ status }) => status?.ready === true && status.runtime === runtime.name);
  const found = storedRuntime(stored, runtime);
  return { runtime: found, runners, size: Math.max(runners.length, found?.status?.desired ?? (own ? wantedOf(agentSpec, stored) : 0), 1) };
}

/** Runners that a workload will have; 0 where only its cluster knows. */
function wantedOf({ kind, deploymentReplicas = 1, affinity }: AgentSpec, stored: Stored): number {
  if (kind === 'Deployment') return deploymentReplicas;
  const nodes = storedNodes(stored);
  const fits = requiredNodes(affinity === undefined ? {} : { affinity });
  if (nodes.length > 0) return fits === undefined ? nodes.length : nodes.filter(fits).length;
  return affinity === undefined ? (storedRuntime(stored)?.status?.desired ?? 0) : 0;
}
