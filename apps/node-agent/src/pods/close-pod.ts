import type { Pod } from '@roundsman/api';
import { FilesKept, type PodFiles } from '../volumes/pod-files.ts';
import { describePod } from './describe.ts';
import type { NodeServices } from './node-services.ts';

const againAfterMs = 1_000;

/** Clears away a pod of which nothing runs: containers, files, then the object (unless that is gone). Each is tried until it is done, or `stopped`. */
export async function closePod({ runtime, network, intake, images, log }: NodeServices, files: PodFiles, pod: Pod, objectIsGone: () => boolean, stopped: () => boolean): Promise<void> {
  const { uid } = pod.metadata;
  const steps: (readonly [failed: string, work: () => Promise<void>])[] = [
    ['containers of a pod not removed', () => runtime.removePod(uid)],
    ['addresses of a pod not given back', () => network.release(uid)],
    ['files of a pod not removed', () => files.remove()],
    ['end of a pod not told', () => (objectIsGone() ? Promise.resolve() : intake.gone(pod))],
  ];
  for (const [failed, work] of steps) {
    for (let done = false; !done; ) {
      if (stopped()) return;
      try {
        await work();
        done = true;
      } catch (error) {
        // The pod has ended all the same.
        done = error instanceof FilesKept;
        log.warn({ err: error, pod: describePod(pod) }, done ? failed : `${failed}; trying again`);
        if (!done) await new Promise((resolve) => setTimeout(resolve, againAfterMs));
      }
    }
  }
  images.forget(uid);
}
