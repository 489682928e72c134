import { z } from 'zod';
import { conditionSchema, type KubeObject } from '../../meta.ts';

export const families = ['v4', 'v6'] as const;
const family = z.enum(families);

/** An address as a load balancer has it: an IP address, or a host name that leads to one. */
const balancerAddress = z.object({ ip: z.string().optional().describe('An IP address'), hostname: z.string().optional().describe('A name that leads to one') });

/** One way to the runners of a runtime, per family. What is not there yet, or not asked for, is absent. */
export const runtimeServiceSchema = z.object({
  family: family.describe('Family of its addresses'),
  name: z.string().describe('Name of the Service'),
  clusterIP: z.string().optional().describe('Its cluster address'),
  port: z.number().int().describe('Its port for HTTP'),
  nodePort: z.number().int().optional().describe('The port of every node that leads to it'),
  loadBalancer: z.array(balancerAddress).optional().describe('Addresses of its load balancer'),
});
export type RuntimeService = z.infer<typeof runtimeServiceSchema>;

const nodeAddress = z.object({ family: family.describe('Its family'), address: z.string().describe('The address') });

/** How the runners of a runtime can be reached but by their own addresses: a copy lies in each Round, so that its work stays the same. */
export const runtimePathsSchema = z.object({
  services: z.array(runtimeServiceSchema).describe('Services, one per family'),
  nodes: z
    .array(z.object({ name: z.string().describe('Name of the node'), addresses: z.array(nodeAddress).describe('Its internal addresses') }))
    .optional()
    .describe('Nodes of the cluster: where node ports are answered. Absent without node ports'),
  ingress: z
    .object({
      name: z.string().describe('Name of the Ingress'),
      host: z.string().describe('Host that its rule is for'),
      path: z.string().describe('Path that its rule is for'),
      tls: z.boolean().describe('Whether it is asked by HTTPS'),
      addresses: z.array(balancerAddress).describe('Where its controller answers'),
    })
    .optional()
    .describe('The Ingress'),
});
export type RuntimePaths = z.infer<typeof runtimePathsSchema>;

/** A runner that its workload has or is to have: one per pod. */
export const runtimeRunnerSchema = z.object({
  runner: z.string().describe('Name of the runner; of a pod that there is not yet, what stands for it'),
  node: z.string().describe('Node it runs on, or is meant for; empty while no node was found'),
  pod: z.string().optional().describe('Name of its pod'),
  ready: z.boolean().describe('Whether its pod is ready'),
  reason: z.string().optional().describe('Why it is not, in words'),
  ended: z
    .object({ at: z.string().describe('When'), reason: z.string().describe('How, in words: exit code 137 (OOMKilled)') })
    .optional()
    .describe('The last end of a container of its pod'),
  interfaces: z
    .array(z.object({ name: z.string().describe('Name of the interface'), family: family.describe('Family of the address'), address: z.string().describe('The address') }))
    .optional()
    .describe("Addresses of interfaces besides the pod's own (Multus)"),
});
export type RuntimeRunner = z.infer<typeof runtimeRunnerSchema>;

/** `Process`: runners that agents keep as processes, where nothing runs containers; nothing else of a runtime is there then. */
export const runtimeKinds = ['DaemonSet', 'Deployment', 'Process'] as const;
export const runtimePhases = ['Creating', 'Ready', 'Degraded', 'Ending'] as const;

export const runtimeSpecSchema = z.object({
  task: z
    .object({
      kind: z.enum(['NetReach', 'AppHttpHealthy', 'NetDNS']).describe('Its kind'),
      resource: z.string().describe('Its resource, such as netreaches.roundsman.io'),
      namespace: z.string().describe('Its namespace'),
      name: z.string().describe('Its name'),
      uid: z.string().describe('Its UID: a task of the same name later is another one'),
    })
    .optional()
    .describe('The task that it carries; the default runtime has none'),
  kind: z.enum(runtimeKinds).describe('Kind of the workload'),
  workload: z.string().optional().describe('Name of the workload, in the namespace of the runtime'),
  replicas: z.number().int().optional().describe('Pods of a Deployment'),
  families: z.array(family).describe('Families it has a Service for'),
  ingress: z.boolean().describe('Whether it has an Ingress'),
  tokenHash: z.string().optional().describe('Hexadecimal SHA-256 of the token that its runners log in to NATS with'),
});
export type RuntimeSpec = z.infer<typeof runtimeSpecSchema>;

export const runtimeStatusSchema = z.object({
  phase: z.enum(runtimePhases).describe('Creating, Ready, Degraded (it works without all of its runners), Ending'),
  settledAt: z.string().optional().describe('When rounds may begin: all is ready, or was waited for long enough. Written once'),
  waitsUntil: z.string().optional().describe('When rounds begin at the latest, whatever is not ready by then. Absent once it has settled'),
  desired: z.number().int().describe('Runners there are to be'),
  ready: z.number().int().describe('Of these, with a ready pod'),
  runners: z.array(runtimeRunnerSchema).describe('Its runners, by its pods'),
  paths: runtimePathsSchema.describe('How they can be reached but by their own addresses'),
  conditions: z.array(conditionSchema).describe('WorkloadReady, ServicesReady, IngressReady and Ready, each with its reason'),
});
export type RuntimeStatus = z.infer<typeof runtimeStatusSchema>;
export type Runtime = KubeObject<RuntimeSpec, RuntimeStatus>;
