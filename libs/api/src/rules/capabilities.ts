import type { Runtime } from '../kinds/runtime/schema.ts';
import type { TaskKind } from '../round/work.ts';

/** What a cluster can do for tasks. */
export interface Capabilities {
  /** Runners are in containers of workloads. Otherwise they are processes that agents keep: they have no Services, no Ingress, and no task has its own. */
  readonly workloads: boolean;
}

/** What the default runtime tells; before there is one nothing speaks against workloads. */
export const capabilitiesOf = (runtime: Runtime | undefined): Capabilities => ({ workloads: runtime?.spec.kind !== 'Process' });

/** A part of a task that this cluster cannot carry out. */
export interface Unsupported {
  readonly field: string;
  readonly why: string;
}

const needs = {
  clusterIP: 'runners with a Service',
  nodePort: 'runners with a Service',
  loadBalancer: 'runners with a Service',
  ingress: 'runners with an Ingress',
  multusInterface: 'runners with interfaces of their own',
} as const;
const reason = 'the runners of this cluster are processes on its nodes. Run it where Docker is, or give it a Kubernetes API (ROUNDSMAN_CONTROLLERS_KUBECONFIG)';

/**
 * The parts of a task's spec that a cluster without workloads cannot test. In our own group such a task is refused; through the kdoctor view
 * it is taken with a warning, and its rounds name them as `notTested`.
 */
export function unsupportedParts(kind: TaskKind, spec: { readonly agentSpec?: unknown; readonly target?: unknown }, { workloads }: Capabilities): Unsupported[] {
  if (workloads) return [];
  const target = (spec.target ?? {}) as Record<string, unknown>;
  const members = kind === 'NetReach' ? Object.entries(needs).filter(([member]) => target[member] === true) : [];
  const parts = members.map(([member, what]) => ({ field: `spec.target.${member}`, why: `needs ${what}: ${reason}` }));
  return spec.agentSpec === undefined ? parts : [...parts, { field: 'spec.agentSpec', why: `needs a workload for the task: ${reason}` }];
}
