import type { ContainerStatus } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { PodOnNode, PodsOnNode, RunOnNode } from './pods-on-node.ts';

/** The pod of this name and uid; 404 for another one of the same name. */
export function podOf(pods: PodsOnNode, { namespace, pod, podUid }: { readonly namespace: string; readonly pod: string; readonly podUid: string }): PodOnNode {
  const found = pods.workers.get(podUid);
  if (found === undefined || found.pod.metadata.name !== pod || found.pod.metadata.namespace !== namespace) throw new ServiceError(404, `pods ${JSON.stringify(pod)} not found`);
  return found;
}

/** The run that runs now: for exec and attach. */
export function runningOf({ runs }: PodOnNode, container: string): RunOnNode {
  const [newest] = runs.get(container) ?? [];
  if (newest?.state !== 'running') throw new ServiceError(500, `unable to upgrade connection: container not found (${JSON.stringify(container)})`);
  return newest;
}

/**
 * The run whose output is meant. A container that waits to run again has its last run for the present one and for the previous one, as in Kubernetes.
 * Throws a 400 in Kubernetes' words when there is none.
 */
export function loggedOf({ pod, runs }: PodOnNode, container: string, previous: boolean): RunOnNode {
  const { name } = pod.metadata;
  const status = statusOf(pod.status, container);
  const [newest, before] = (runs.get(container) ?? []).filter(({ state }) => state !== 'created');
  const waits = newest?.state === 'exited' && status?.state?.waiting !== undefined;
  const run = previous && !waits ? before : newest;
  if (run !== undefined) return run;
  if (previous) throw new ServiceError(400, `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(name)} not found`);
  const about = `container ${JSON.stringify(container)} in pod ${JSON.stringify(name)} is`;
  if (status === undefined) throw new ServiceError(400, `${about} not available`);
  throw new ServiceError(400, `${about} waiting to start${whyWaiting(status)}`);
}

const statusOf = (status: PodOnNode['pod']['status'], container: string): ContainerStatus | undefined =>
  [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(({ name }) => name === container);

function whyWaiting({ state }: ContainerStatus): string {
  switch (state?.waiting?.reason) {
    case undefined:
      return ' - no logs yet';
    case 'ErrImagePull':
      return ": image can't be pulled";
    case 'ImagePullBackOff':
      return ': trying and failing to pull image';
    default:
      return `: ${state?.waiting?.reason}`;
  }
}
