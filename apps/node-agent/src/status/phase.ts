import type { ContainerStatus, PodSpec } from '@roundsman/api';
import { isSidecar, restartPolicyOf } from '../pods/restart-policy.ts';

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

export const isTerminal = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** The phase of a pod from its containers' statuses, as the kubelet decides it. `over`: none of them will run again. */
export function phaseOf(spec: PodSpec, statuses: readonly ContainerStatus[], over: boolean): Phase {
  const policy = restartPolicyOf(spec);
  const inits = spec.initContainers ?? [];
  const of = (name: string): ContainerStatus | undefined => statuses.find((status) => status.name === name);
  const ended = (status: ContainerStatus | undefined) => status?.state?.terminated ?? (status?.state?.waiting === undefined ? undefined : status.lastState?.terminated);

  const plainInits = inits.filter((container) => !isSidecar(container)).map(({ name }) => of(name));
  const initFailed = plainInits.some((status) => (ended(status)?.exitCode ?? 0) !== 0);
  if (initFailed && policy === 'Never') return 'Failed';

  const apps = spec.containers.map(({ name }) => of(name));
  const anyAppRan = apps.some((status) => status?.state?.running !== undefined || ended(status) !== undefined);
  const sidecars = inits.filter(isSidecar).map(({ name }) => of(name));
  const sidecarsPending = sidecars.some((status) => status === undefined || (status.state?.running === undefined ? ended(status) === undefined : status.started !== true));
  if (plainInits.some((status) => ended(status) === undefined) || (sidecarsPending && !anyAppRan)) return over && initFailed ? 'Failed' : 'Pending';

  const running = [...apps, ...sidecars].filter((status) => status?.state?.running !== undefined).length;
  const waiting = apps.filter((status) => status?.state?.running === undefined && ended(status) === undefined).length;
  if (waiting > 0) return 'Pending';
  if (running > 0) return 'Running';
  const succeeded = apps.every((status) => status?.state?.terminated?.exitCode === 0);
  if (over) return succeeded ? 'Succeeded' : 'Failed';
  if (policy === 'Always') return 'Running';
  if (succeeded) return 'Succeeded';
  return policy === 'Never' ? 'Failed' : 'Running';
}
