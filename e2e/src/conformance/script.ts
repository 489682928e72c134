import { apply } from './script/apply.ts';
import { autoscaling } from './script/autoscaling.ts';
import { badInput } from './script/bad-input.ts';
import { deployments } from './script/deployments.ts';
import { discovery } from './script/discovery.ts';
import { ingresses } from './script/ingresses.ts';
import { nodes } from './script/nodes.ts';
import { pods } from './script/pods.ts';
import { services } from './script/services.ts';
import type { Step } from './script/step.ts';
import { workloads } from './script/workloads.ts';

/** Everything kubectl is asked, in order: each chapter builds on what those before it left. Pods make the namespace. */
export const script: readonly Step[] = [
  ...pods,
  ...apply,
  ...deployments,
  ...workloads,
  ...services,
  ...ingresses,
  ...autoscaling,
  ...badInput,
  ...discovery,
  // Last: a node would let the pods of the other chapters be scheduled.
  ...nodes,
  { name: 'delete namespace', args: ['delete', 'namespace', 'conf'] },
];
