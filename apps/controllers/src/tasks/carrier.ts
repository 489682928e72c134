import { defaultRuntime, type AnyTask, type Condition, type Runtime, type TaskStatus } from '@roundsman/api';
import type { Caches } from '../caches.ts';
import { serviceNameOf } from '../runtimes/manifests/services.ts';
import { agentSpecOf, canHaveOwn, ownRuntimeName, type Means } from '../runtimes/lifetime/own-runtime.ts';

/** Who carries a task: as far as it is there. */
export interface Carrier {
  /** A runtime of the task's own; otherwise the default one. */
  readonly own: boolean;
  readonly runtime: Runtime | undefined;
  /** Name of its workload or, of processes, of the Runtime. */
  readonly name: string;
  /** It asks for a runtime of its own where none can be made. */
  readonly refused: boolean;
}

export function carrierOf(task: AnyTask, caches: Pick<Caches, 'runtimes'>, means: Means): Carrier {
  const asks = agentSpecOf(task) !== undefined;
  const own = asks ? caches.runtimes.by('task', task.metadata.uid)[0] : undefined;
  if (own !== undefined || (asks && canHaveOwn(means))) return { own: true, runtime: own, name: own?.spec.workload ?? ownRuntimeName(task), refused: false };
  const runtime = caches.runtimes.get(defaultRuntime.namespace, means.settings.runtime);
  return { own: false, runtime, name: runtime?.spec.workload ?? means.settings.runtime, refused: asks };
}

/** What carries it, in the words of kdoctor. */
export function resourceOf(task: AnyTask, { own, runtime, name }: Carrier, finish: boolean): NonNullable<TaskStatus['resource']> {
  const { kind, families = [] } = runtime?.spec ?? {};
  const services = kind === undefined || kind === 'Process' ? [] : families;
  return {
    runtimeName: name,
    runtimeType: kind ?? (own ? (agentSpecOf(task)?.kind ?? 'DaemonSet') : 'Process'),
    runtimeStatus: runtime === undefined ? (own && finish ? 'deleted' : 'creating') : runtime.status?.settledAt === undefined ? 'creating' : 'created',
    ...(services.includes('v4') ? { serviceNameV4: serviceNameOf(name, 'v4') } : {}),
    ...(services.includes('v6') ? { serviceNameV6: serviceNameOf(name, 'v6') } : {}),
  };
}

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** Of the default runtime only whether it works: its details would be written into every task with each of its changes. */
export function runtimeReady({ own, runtime, name, refused }: Carrier, finish: boolean): Draft {
  const type = 'RuntimeReady';
  const no = (reason: string, message: string): Draft => ({ type, status: 'False', reason, message });
  if (refused) {
    return no('NoKubernetesApi', 'spec.agentSpec asks for a runtime of its own, which nothing here can make: set ROUNDSMAN_CONTROLLERS_KUBECONFIG and ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME=daemonset, or take agentSpec off. The default runtime carries the task.');
  }
  const whole = runtime?.status?.conditions.find((condition) => condition.type === 'Ready');
  const place = `${runtime?.metadata.namespace ?? ''}/${runtime?.metadata.name ?? ''}`;
  if (runtime === undefined) {
    if (!own) return no('NoRuntime', 'The default runtime is not there yet.');
    return finish ? no('RuntimeRemoved', 'The task is done, and its runtime is removed. A run-now makes it anew.') : no('RuntimeCreating', `Runtime ${name} is about to be made.`);
  }
  if (runtime.metadata.deletionTimestamp !== undefined) return no('RuntimeEnding', whole?.reason === 'NotRemoved' ? whole.message : `Runtime ${place} is being removed.`);
  if (runtime.status?.settledAt === undefined) return no(whole?.reason ?? 'RuntimeCreating', own && whole !== undefined ? whole.message : `Runtime ${place} is being made.`);
  if (whole?.status === 'True') return { type, status: 'True', reason: 'RuntimeReady', message: own ? whole.message : `The default runtime ${place} carries the task.` };
  return no(own ? (whole?.reason ?? 'RuntimeDegraded') : 'RuntimeDegraded', own ? (whole?.message ?? 'Not all of its runtime is ready.') : `Not all of the default runtime is ready: see kubectl get runtimes -n ${runtime.metadata.namespace} ${runtime.metadata.name}.`);
}
