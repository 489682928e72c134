import type { Container, PodSpec } from '@roundsman/api';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** An init container that runs as long as the pod. */
export const isSidecar = (container: Pick<Container, 'restartPolicy'>): boolean => container.restartPolicy === 'Always';

/** Whether an app container or sidecar that ended is started again. */
export function restarts(container: Pick<Container, 'restartPolicy'>, policy: RestartPolicy, exitCode: number): boolean {
  if (isSidecar(container) || policy === 'Always') return true;
  return policy === 'OnFailure' && exitCode !== 0;
}

/** Whether an init container that failed is tried again; one that succeeded never is. */
export const retriesInit = (policy: RestartPolicy): boolean => policy !== 'Never';

export const restartPolicyOf = (spec: Pick<PodSpec, 'restartPolicy'>): RestartPolicy => (spec.restartPolicy ?? 'Always') as RestartPolicy;
