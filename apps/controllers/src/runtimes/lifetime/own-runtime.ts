import { runtimeFinalizer, runtimeLabels, runtimeNameOf, taskResources, type AgentSpec, type AnyTask, type NetReachSpec, type Runtime, type RuntimeSpec, type TaskKind } from '@roundsman/api';
import type { Cluster } from '@roundsman/cluster';
import type { Draft } from '../../objects.ts';
import { controllerReference } from '../../owner.ts';
import type { Settings } from '../../settings.ts';
import type { ServiceType } from '../manifests/facts.ts';
import { hostPortsAnnotation } from '../manifests/ports.ts';

/** What a task asks for to carry it; undefined: the default runtime does. */
export const agentSpecOf = ({ spec }: AnyTask): AgentSpec | undefined => (spec as { agentSpec?: AgentSpec }).agentSpec;

const targetOf = (task: AnyTask): Partial<NetReachSpec['target']> => (task.kind === 'NetReach' ? (task.spec as unknown as NetReachSpec).target : {});

/** The widest way that the task tests: each type has the narrower ones too. */
export function serviceTypeOf(task: AnyTask): ServiceType {
  const { loadBalancer, nodePort } = targetOf(task);
  return loadBalancer === true ? 'LoadBalancer' : nodePort === true ? 'NodePort' : 'ClusterIP';
}

/** What runtimes can be made with. */
export interface Means {
  readonly cluster: Cluster | undefined;
  readonly settings: Pick<Settings, 'runtime' | 'defaultRuntime'>;
}

/** Whether tasks can have runtimes of their own: there is where to make them, and runners are containers here. */
export const canHaveOwn = ({ cluster, settings }: Means): boolean => cluster !== undefined && settings.defaultRuntime === 'daemonset';

/** Name of the Runtime of a task that has its own. */
export const ownRuntimeName = ({ kind, metadata }: AnyTask): string => runtimeNameOf(kind as TaskKind, metadata.name, metadata.uid);

/** The spec of its Runtime but for the token, which belongs to the Secret that holds it. */
export function ownSpecOf(task: AnyTask, agentSpec: AgentSpec, { runtimeFamilies }: Pick<Settings, 'runtimeFamilies'>): Omit<RuntimeSpec, 'tokenHash'> {
  const { name, namespace = '', uid } = task.metadata;
  const kind = task.kind as TaskKind;
  return {
    task: { kind, resource: taskResources[kind], namespace, name, uid },
    kind: agentSpec.kind,
    workload: ownRuntimeName(task),
    ...(agentSpec.kind === 'Deployment' ? { replicas: agentSpec.deploymentReplicas ?? 1 } : {}),
    families: runtimeFamilies,
    ingress: targetOf(task).ingress === true,
  };
}

/** The Runtime to make. `hostPort`: the first of its ports in the networks of the nodes. */
export function ownRuntimeOf(task: AnyTask, agentSpec: AgentSpec, settings: Pick<Settings, 'runtimeFamilies'>, hostPort: number | undefined): Draft & Pick<Runtime, 'spec'> {
  return {
    apiVersion: 'roundsman.io/v1',
    kind: 'Runtime',
    metadata: {
      name: ownRuntimeName(task),
      namespace: task.metadata.namespace ?? '',
      labels: { [runtimeLabels.taskKind]: task.kind, [runtimeLabels.taskUid]: task.metadata.uid },
      ...(hostPort === undefined ? {} : { annotations: { [hostPortsAnnotation]: String(hostPort) } }),
      finalizers: [runtimeFinalizer],
      ownerReferences: [controllerReference(task)],
    },
    spec: ownSpecOf(task, agentSpec, settings),
  };
}
