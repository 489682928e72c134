import type { AdmissionContext } from '../kind.ts';
import type { TaskKind } from '../round/work.ts';
import { forbiddenField, type Findings } from './causes.ts';

/** A part of a task that this cluster cannot carry out yet. */
export interface Unsupported {
  readonly field: string;
  readonly why: string;
}

const paths = {
  clusterIP: 'cluster addresses of services',
  nodePort: 'node ports of services',
  loadBalancer: 'load balancers',
  ingress: 'ingresses',
  multusInterface: 'further network interfaces of runners',
} as const;

/**
 * The parts of a task's spec that cannot be tested yet. In our own group such a task is refused; through the kdoctor view it
 * is taken with a warning, and its rounds name them as `notTested`.
 */
export function unsupportedParts(kind: TaskKind, spec: { readonly agentSpec?: unknown; readonly target?: unknown }): Unsupported[] {
  const parts: Unsupported[] = [];
  const target = (spec.target ?? {}) as Record<string, unknown>;
  if (kind === 'NetReach') {
    for (const [member, what] of Object.entries(paths)) {
      if (target[member] === true) parts.push({ field: `spec.target.${member}`, why: `this cluster has no ${what} to test yet` });
    }
  }
  if (kind === 'NetDNS' && target['targetDns'] !== undefined) {
    parts.push({ field: 'spec.target.targetDns', why: 'this cluster has no DNS service of its own to test yet; name a server with targetUser' });
  }
  if (spec.agentSpec !== undefined) parts.push({ field: 'spec.agentSpec', why: 'tasks cannot have a workload of their own yet; the default runners execute them' });
  return parts;
}

export function unsupportedRules(kind: TaskKind, spec: { readonly agentSpec?: unknown; readonly target?: unknown }, context: AdmissionContext, { causes, warnings }: Findings): void {
  for (const { field, why } of unsupportedParts(kind, spec)) {
    if (context.view === undefined) causes.push(forbiddenField(field, why));
    else warnings.push(`${field}: not tested: ${why}`);
  }
}
