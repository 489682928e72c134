import { z } from 'zod';

const milliseconds = (value: number) => z.coerce.number().int().min(100).default(value);

/** Parts of a text between commas. */
const list = z.string().transform((text) => text.split(',').map((part) => part.trim()).filter((part) => part !== ''));

/** Environment variables `ROUNDSMAN_CONTROLLERS_<KEY>`; milliseconds. */
export const settingsSchema = z.object({
  runtime: z.string().default('default').describe('Runtime whose runners carry the tasks'),
  runnerLostMs: milliseconds(5_000).describe('A runner that is silent for so long is not ready'),
  runnerRemoveMs: milliseconds(24 * 3_600_000).describe('A runner that is lost for so long is forgotten'),
  nodeLostMs: milliseconds(10_000).describe('The readiness of a node that is silent for so long is unknown'),
  nodeTaintsPerSecond: z.coerce.number().positive().default(0.1).describe('Nodes whose pods are told to leave because they are lost or not ready, per second and zone'),
  endedPodsKept: z.coerce.number().int().min(0).default(12_500).describe('Pods that have ended are kept up to so many'),
  roundsKept: z.coerce.number().int().min(10).default(10).describe('Closed rounds kept per task'),
  autoscalerIntervalMs: milliseconds(15_000).describe('Every autoscaler looks so often at what its pods use'),
  autoscalerTolerance: z.coerce.number().min(0).lt(1).default(0.1).describe('So far from 1 the ratio of use to target may be without a change of the number of pods'),
  autoscalerCpuInitializationMs: z.coerce.number().int().min(0).default(300_000).describe('For so long after its start the processor time of a pod counts only while it is ready, and measured since it became so'),
  autoscalerInitialReadinessDelayMs: z.coerce.number().int().min(0).default(30_000).describe('A pod that became unready within so long after its start has never been ready'),
  autoscalerDownscaleStabilizationMs: z.coerce.number().int().min(0).default(300_000).describe('The highest recommendation of so long counts before pods are taken away, where behavior.scaleDown says nothing'),
  kubeconfig: z.string().default('').describe('Kubernetes API in which task runtimes are made: file of a kubeconfig, or `in-cluster`; empty: none are'),
  defaultRuntime: z.enum(['daemonset', 'process']).default('process').describe('What carries tasks without agentSpec: a DaemonSet made by the Kubernetes API, or processes that agents keep'),
  runtimeWaitMs: milliseconds(60_000).describe('Rounds begin without those runners, Services or Ingress of a runtime that are not ready so long after it was made'),
  noRunnerWaitMs: milliseconds(30_000).describe('ROUNDSMAN_SCHEDULER_NO_RUNNER_WAIT_MS of the scheduler: tasks say until when a round waits (`up` sets it)'),
  runtimeFamilies: list.pipe(z.array(z.enum(['v4', 'v6'])).min(1).max(2)).default(['v4']).describe('IP families of the cluster, v4 or v6 or both with a comma: a runtime has a Service for each'),
  runtimeServiceType: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('LoadBalancer').describe('Type of the Services of the default runtime; those of a task have what it tests'),
  runtimeIngressClass: z.string().default('').describe('Class of the Ingresses of runtimes; empty: the default class of the cluster'),
  runtimeInterfacesAnnotation: list.default(['k8s.v1.cni.cncf.io/network-status', 'k8s.v1.cni.cncf.io/networks-status']).describe('Annotations of pods that list their further interfaces (Multus), the first that is there counts'),
  runnerImage: z.string().default('roundsman/probe-runner:0.1.0').describe('Image of the runners of runtimes'),
  runnerImagePullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent'),
  runnerImagePullSecrets: list.default([]).describe('Names of Secrets in the namespace of the task, separated by commas'),
  runnerNatsUrl: z.string().default('tls://nats.roundsman-system.svc:4222').describe('NATS as runners in pods reach it'),
  runnerNatsCaFile: z.string().default('').describe('PEM of the authority behind its certificate, given to runners'),
  runnerDeny: z.string().default('').describe('CIDR ranges that runners in pods may not target, besides link-local ones; commas between them'),
  runnerDenyEndpoints: z.string().default('').describe('`address:port` pairs that they may not target either'),
  runnerAllow: z.string().default('').describe('Ranges, addresses or `address:port` pairs that are open to them all the same'),
  runnerCapacityQps: z.coerce.number().positive().optional().describe('Requests per second a runner in a pod may be asked for, all its rounds together; empty: what it takes by itself'),
  runnerIssuerSeedFile: z.string().default('').describe('Seed of the account nkey that NATS trusts as issuer of its auth callout; empty: no runner in a pod is let in'),
  dnsServerLabel: z.string().regex(/^[^=\s]+=[^=\s]*$/, 'must be a label: key=value').default('k8s-app=kube-dns').describe('Label, key=value, of the Services in kube-system that a NetDNS with targetDns and no serviceName asks; where no Service has it, the one named kube-dns'),
  eventTtlMs: milliseconds(3_600_000).describe('Events are kept so long'),
}).refine(({ defaultRuntime, kubeconfig }) => defaultRuntime === 'process' || kubeconfig !== '', { path: ['defaultRuntime'], message: 'a DaemonSet is made by a Kubernetes API, and ROUNDSMAN_CONTROLLERS_KUBECONFIG names none' });
export type Settings = z.infer<typeof settingsSchema>;
