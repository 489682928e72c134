import { z } from 'zod';
import type { KubeObject } from '../meta.ts';
import { bounds } from '../schedule.ts';
import { affinitySchema } from './pod/affinity.ts';
import { envVarSchema } from './pod/environment.ts';
import { resourceRequirementsSchema } from './pod/resources.ts';

/** Asks for a runtime of the task's own; field names as in kdoctor. Parts of pods are those of Kubernetes. */
export const agentSpecSchema = z
  .object({
    kind: z.enum(['Deployment', 'DaemonSet']).default('DaemonSet').describe('Workload to make: a DaemonSet has a runner on every node, a Deployment as many as deploymentReplicas'),
    deploymentReplicas: z.number().int().min(1).max(100_000).optional().describe('Runners of a Deployment; 1 unless set'),
    annotation: z.record(z.string(), z.string()).optional().describe('Annotations of the workload, its pods and Services, such as the networks that Multus attaches'),
    affinity: affinitySchema.optional().describe('Nodes on which runners may and should be; all of them unless set'),
    env: z.array(envVarSchema).optional().describe('Variables in the environment of the runners, beside their own'),
    hostNetwork: z.boolean().optional().describe('Runners are in the network of their node, and probe from there'),
    resources: resourceRequirementsSchema.optional().describe('What a runner needs and may use. Requests of 10m of cpu and 64Mi of memory and a limit of 1Gi of memory hold where no other amount is given; a default request is never above a given limit, nor a default limit below a given request'),
    terminationGracePeriodMinutes: z
      .number()
      .int()
      .nonnegative()
      .max(bounds.scheduleMinutes)
      .default(60)
      .describe('Minutes from the end of the task to the end of its runtime, which is never before its results are safe'),
  })
  .describe('Gives the task a runtime of its own, which it shares with no other. Without it the default runtime carries it. Once the task is there only terminationGracePeriodMinutes may be changed');
export type AgentSpec = z.infer<typeof agentSpecSchema>;

/** Defaults of a task that depend on other members. Changes `task`. */
export function completeTask(task: KubeObject): void {
  const { agentSpec } = task.spec as { agentSpec?: AgentSpec };
  if (agentSpec?.kind === 'Deployment') agentSpec.deploymentReplicas ??= 1;
}
