import type { RuntimeFacts, Manifest } from './facts.ts';
import { labelsOf, selectorOf } from './labels.ts';
import { podTemplateOf } from './pod-template.ts';

/** The DaemonSet or Deployment of a runtime. `owner`: of its task, where the API knows tasks. */
export function workloadOf(facts: RuntimeFacts, owner: object | undefined): Manifest {
  const { runtime, agentSpec, installation } = facts;
  const isDaemon = runtime.spec.kind === 'DaemonSet';
  return {
    apiVersion: 'apps/v1',
    kind: runtime.spec.kind,
    metadata: {
      name: runtime.spec.workload,
      namespace: runtime.metadata.namespace ?? '',
      labels: labelsOf(runtime, installation),
      ...(agentSpec?.annotation === undefined ? {} : { annotations: agentSpec.annotation }),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      ...(isDaemon ? {} : { replicas: runtime.spec.replicas ?? 1 }),
      selector: { matchLabels: selectorOf(runtime) },
      template: podTemplateOf(facts),
      ...(isDaemon ? { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } } } : { strategy: { type: 'RollingUpdate' } }),
    },
  };
}
