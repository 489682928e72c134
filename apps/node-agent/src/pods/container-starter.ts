import type { Container, Pod } from '@roundsman/api';
import type { PodContainer } from '@roundsman/containers';
import { containerConfig } from '../containers/container-config.ts';
import { environmentOf } from '../environment/environment.ts';
import type { Materials } from '../environment/materials.ts';
import { serviceLinks } from '../environment/service-links.ts';
import { HookProblem, runHook } from '../lifecycle/hooks.ts';
import type { PodFiles } from '../volumes/pod-files.ts';
import type { NodeServices } from './node-services.ts';

export interface StartOrder {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly backOffMs: number;
  readonly sandboxId: string;
  readonly sandboxRun: string;
  readonly podIPs: readonly string[];
  readonly files: PodFiles;
  readonly materials: () => Promise<Materials>;
  /** The container is there: postStart may still be under way. */
  readonly onContainer: (container: PodContainer) => Promise<void>;
  /** Nobody wants it any more. */
  readonly signal: AbortSignal;
}

/** Starts one run of a container: image, configuration, container, postStart. Throws what startFailure (problems.ts) explains; `signal` makes it end early. */
export async function startRun(services: NodeServices, order: StartOrder): Promise<void> {
  const { runtime, events, slots } = services;
  const { pod, container, files, signal } = order;
  const image = await unlessAborted(services.images.ensure(pod, container, order.materials), signal);
  if (image === undefined) return;
  const materials = await order.materials();
  const facts = { podIPs: order.podIPs, hostIPs: services.hostIPs, allocatable: services.allocatable };
  const environment = environmentOf(pod, container, materials, facts, serviceLinks(pod, services.networkState));
  for (const [from, keys] of environment.skipped) {
    const [kind = '', name = ''] = from.split(' ');
    const text = `Keys [${keys.join(', ')}] from the EnvFrom ${kind === 'Secret' ? 'secret' : 'configMap'} ${name} were skipped since they are considered invalid environment variable names.`;
    events.record(pod, 'Warning', 'InvalidEnvironmentVariableNames', text);
  }
  const mounts = await files.mounts(container, order.attempt, environment.variables);
  const config = containerConfig(pod, container, { ...order, image, variables: environment.variables, mounts });
  const made = await slots.run('container', async () => (signal.aborted ? undefined : runtime.startContainer(config)));
  if (made === undefined) return;
  await order.onContainer(made);
  events.record(pod, 'Normal', 'Created', `Created container: ${container.name}`, container.name);
  events.record(pod, 'Normal', 'Started', `Started container ${container.name}`, container.name);
  await postStart(services, order, made.id);
}

/** A hook that fails ends the container, as in Kubernetes. */
async function postStart({ runtime, events }: NodeServices, { pod, container, podIPs, signal }: StartOrder, id: string): Promise<void> {
  const hook = container.lifecycle?.postStart;
  if (hook === undefined) return;
  try {
    await runHook(runtime, { pod, container, id, podIP: podIPs[0] ?? '' }, hook, signal);
  } catch (error) {
    if (!(error instanceof HookProblem) || signal.aborted) throw error;
    events.record(pod, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', container.name);
    events.record(pod, 'Normal', 'Killing', 'FailedPostStartHook', container.name);
    await runtime.stopContainer(id, pod.spec.terminationGracePeriodSeconds * 1000);
    throw error;
  }
}

/** undefined: it was aborted, and whatever goes on counts for nothing. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => resolve(undefined);
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
