import { createHash } from 'node:crypto';
import type { Runtime } from './kinds/runtime/schema.ts';
import type { KubeObject } from './meta.ts';
import { taskKindSchema, type TaskKind } from './round/work.ts';

/**
 * What those who make runtimes (controllers), those who run in them (probe-runner, its image) and those who let them in (NATS) agree on.
 */
export const systemNamespace = 'roundsman-system';

/** Where runners in pods reach NATS in the small cluster; its endpoint is what a node says in an annotation (`nodeNetworkAnnotations.nats`). */
export const natsService = { namespace: systemNamespace, name: 'nats', port: 4222 } as const;

/** The runtime of all tasks without `agentSpec`; its workload is `workload`. */
export const defaultRuntime = { namespace: systemNamespace, name: 'default', workload: 'probe-runner' } as const;

/** Name of a task's own runtime, of its workload, Services, Ingress and Secret: a DNS label that no other task has or had. */
export function runtimeNameOf(kind: TaskKind, task: string, taskUid: string): string {
  const suffix = taskUid.replaceAll('-', '').slice(0, 10);
  const text = `${kind.toLowerCase()}-${task.replaceAll('.', '-')}`;
  return `${text.slice(0, 52 - suffix.length - 1).replace(/-+$/, '')}-${suffix}`;
}

/** Name of the runner in a pod: unique in the cluster, since runners have no namespace. */
export const runnerOfPod = (namespace: string, pod: string): string => `${pod}.${namespace}`;

const ofWorkloads = new RegExp(`^(${[defaultRuntime.workload, ...taskKindSchema.options.map((kind) => kind.toLowerCase())].join('|')})-.*\\.[^.]+$`);
/** Whether only a runner in a pod of a runtime is called so: a process that an agent keeps has the name of its runtime and node. */
export const isNameOfPodRunner = (runner: string): boolean => ofWorkloads.test(runner);

export const runtimeLabels = {
  /** Name of the runtime; on its workload, pods, Services, Ingress and Secret, and the selector of them all. */
  runtime: 'roundsman.io/runtime',
  taskKind: 'roundsman.io/task-kind',
  taskUid: 'roundsman.io/task-uid',
} as const;

/** On a task that has, or had, a runtime of its own: it goes when its rounds are closed and the runtime is removed. */
export const runtimeFinalizer = 'roundsman.io/runtime';

/** One that ends carries nothing any more: whoever asks for a round gets a new one. */
export const isEndingRuntime = ({ metadata, status }: Pick<Runtime, 'metadata' | 'status'>): boolean => metadata.deletionTimestamp !== undefined || status?.phase === 'Ending';

/**
 * From when the schedule of a task counts, milliseconds: its creation, or when the runtime that carries it settled if that was later; undefined: it
 * has not. `own`: that is to be one of the task's own. Processes are waited for by nobody, nor is a default runtime that there is not.
 */
export function countsFromMs({ metadata }: Pick<KubeObject, 'metadata'>, { own, runtime }: { readonly own: boolean; readonly runtime: Runtime | undefined }): number | undefined {
  const createdMs = Date.parse(metadata.creationTimestamp);
  if (!own && (runtime === undefined || runtime.spec.kind === 'Process')) return createdMs;
  const settledAt = runtime === undefined || isEndingRuntime(runtime) ? undefined : runtime.status?.settledAt;
  return settledAt === undefined ? undefined : Math.max(createdMs, Date.parse(settledAt));
}

/** Ports of the echo target in a pod that has a network of its own; with the network of its node they are chosen, per runtime. All above 1024: no rights are needed. */
export const runnerPodPorts = { http: 8080, https: 8443, dns: 8053, dot: 8853, udp: 8007 } as const;
/** Ports of a runtime's Services, by the name of the target port (`http`, `https`, `dns`, `dot`, `udp`). */
export const runtimeServicePorts = { http: 80, https: 443, dns: 53, dot: 853, udp: 7 } as const;

/** Where the image expects things, and the keys of the runtime's Secret that is mounted there. */
export const runnerImage = {
  data: '/data',
  /** `token` (what the runner says to NATS), `ca.crt` (PEM, of the certificate of NATS; absent without TLS). */
  secret: '/etc/roundsman',
  tokenKey: 'token',
  caKey: 'ca.crt',
  /** Of the pod: `$(POD_NAME).$(POD_NAMESPACE)` is the runner's name. */
  probePath: '/healthz',
} as const;

/** What is kept of a token. */
export const tokenHashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
