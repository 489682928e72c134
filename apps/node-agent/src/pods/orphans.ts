import type { PodOnRuntime } from '@roundsman/containers';
import { annotationKeys } from '../containers/run.ts';
import { PodFiles } from '../volumes/pod-files.ts';
import type { NodeServices } from './node-services.ts';

const defaultGraceSeconds = 30;

/** Ends a pod that nobody knows any more: its containers with the grace they were made with, then all that is left of it. */
export async function endOrphan({ runtime, network, podsFolder, log }: NodeServices, { podUid, namespace, podName, containers }: PodOnRuntime): Promise<void> {
  log.info({ pod: `${podName}_${namespace}(${podUid})` }, 'a pod that nobody wants any more is ended');
  const running = containers.filter(({ state }) => state === 'running');
  await Promise.all(running.map(({ id, annotations }) => runtime.stopContainer(id, Number(annotations[annotationKeys.graceSeconds] ?? defaultGraceSeconds) * 1000)));
  await runtime.removePod(podUid);
  await network.release(podUid);
  await new PodFiles(podsFolder, podUid).remove();
}
