import type { DaemonSet, Deployment, EndpointSlice, Ingress, IngressClass, KubeObject, Node, Pod, Runner, Runtime, Service } from '@roundsman/api';
import type { Settings } from '../../settings.ts';

/** Parts of a runtime whose objects the Kubernetes API may refuse. */
export type Part = 'workload' | 'services' | 'ingress';

/** What is seen of a runtime at one time. */
export interface Observation {
  readonly runtime: Runtime;
  readonly workload: DaemonSet | Deployment | undefined;
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  /** Of its Services. */
  readonly slices: readonly (EndpointSlice & KubeObject)[];
  readonly ingress: Ingress | undefined;
  readonly ingressClasses: readonly IngressClass[];
  /** All nodes of the cluster. */
  readonly nodes: readonly Node[];
  /** Runner objects of this runtime: those of its pods and, of the default runtime, the processes. */
  readonly runners: readonly Runner[];
  /** Nodes that a pod of the workload may be on. */
  readonly fits: (node: Node) => boolean;
  /** Why no pods are made, in the words of the cluster. */
  readonly noPods: string | undefined;
  /** Why an object is not as it is to be, by its part. */
  readonly problems: ReadonlyMap<Part, string>;
  /** Why what is seen may be old. */
  readonly stale: string | undefined;
  readonly settings: Pick<Settings, 'runtimeWaitMs' | 'runtimeInterfacesAnnotation' | 'runnerNatsUrl'>;
  readonly nowMs: number;
}
