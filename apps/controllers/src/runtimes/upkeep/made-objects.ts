import type { AnyTask, KubeObject, Runtime } from '@roundsman/api';
import { resources, type Cluster, type ClusterResource } from '@roundsman/cluster';
import { agentSpecOf, serviceTypeOf } from '../lifetime/own-runtime.ts';
import type { Settings } from '../../settings.ts';
import type { RuntimeFacts } from '../manifests/facts.ts';
import { ingressOf } from '../manifests/ingress.ts';
import { installationLabel } from '../manifests/labels.ts';
import { portsOf } from '../manifests/ports.ts';
import { secretOf } from '../manifests/secret.ts';
import { serviceNameOf, servicesOf } from '../manifests/services.ts';
import { workloadOf } from '../manifests/workload.ts';
import type { Part } from '../status/observation.ts';
import { Refused, type ObjectKeeper } from './object-keeper.ts';
import type { Owners } from './owners.ts';

/** A Runtime that has a workload: of any kind but `Process`. */
export type WorkloadRuntime = RuntimeFacts['runtime'];
export const hasWorkload = (runtime: Runtime): runtime is WorkloadRuntime => runtime.spec.kind !== 'Process' && runtime.spec.workload !== undefined;

export interface Making {
  readonly runtime: WorkloadRuntime;
  /** Undefined for the default runtime. */
  readonly task: AnyTask | undefined;
  readonly token: string;
  readonly natsCa: string | undefined;
  readonly installation: string;
  readonly settings: Settings;
}

export const factsOf = ({ task, ...making }: Making): RuntimeFacts => ({
  ...making,
  agentSpec: task === undefined ? undefined : agentSpecOf(task),
  serviceType: task === undefined ? making.settings.runtimeServiceType : serviceTypeOf(task),
  ports: portsOf(making.runtime),
});

/**
 * Makes and mends all that a runtime is in the Kubernetes API: the Secret first, for which pods wait, then the workload, then what leads to it. Answers what the API does
 * not take, by its part; rejects when it cannot be reached.
 */
export async function keepObjects(making: Making, keeper: ObjectKeeper, owners: Owners): Promise<Map<Part, string>> {
  const facts = factsOf(making);
  const problems = new Map<Part, string>();
  const attempt = async (part: Part, make: () => Promise<KubeObject>): Promise<KubeObject | undefined> => {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      problems.set(part, error.message);
      return undefined;
    }
  };
  const owner = await owners.ofWorkload(making.task);
  const secret = await attempt('workload', () => keeper.keep(secretOf(facts, owner), making.installation));
  const workload = secret === undefined ? undefined : await attempt('workload', () => keeper.keep(workloadOf(facts, owner), making.installation));
  if (workload === undefined) return problems;
  const ownerOfOthers = owners.ofOthers(workload);
  const ingress = ingressOf(facts, ownerOfOthers);
  await Promise.all([
    ...servicesOf(facts, ownerOfOthers).map((service) => attempt('services', () => keeper.keep(service, making.installation))),
    ...(ingress === undefined ? [] : [attempt('ingress', () => keeper.keep(ingress, making.installation))]),
  ]);
  return problems;
}

/** `kind/name` of all that a runtime is to have. */
export const namesOf = ({ spec: { kind, workload, families, ingress } }: WorkloadRuntime): Set<string> =>
  new Set([`Secret/${workload}`, `${kind}/${workload}`, ...families.map((family) => `Service/${serviceNameOf(workload, family)}`), ...(ingress ? [`Ingress/${workload}`] : [])]);

/**
 * Removes all that was made under the names of a runtime, whether it was ever seen or not, but for what others have made in the same cluster: default runtimes
 * of all installations are called alike. Rejects when the API cannot be reached or refuses.
 */
export async function removeObjects(cluster: Cluster, { metadata, spec }: WorkloadRuntime, installation: string): Promise<void> {
  const { namespace = '' } = metadata;
  const { workload, kind } = spec;
  const remove = async (resource: ClusterResource, name: string, propagationPolicy?: 'Background'): Promise<void> => {
    const there = await cluster.get<KubeObject>(resource, namespace, name);
    if (there === undefined || there.metadata.labels?.[installationLabel] !== installation) return;
    await cluster.delete(resource, namespace, name, { uid: there.metadata.uid, ...(propagationPolicy === undefined ? {} : { propagationPolicy }) });
  };
  await Promise.all([
    remove(kind === 'DaemonSet' ? resources.daemonSets : resources.deployments, workload, 'Background'),
    remove(resources.ingresses, workload),
    ...(['v4', 'v6'] as const).map((family) => remove(resources.services, serviceNameOf(workload, family))),
    remove(resources.secrets, workload),
  ]);
}
