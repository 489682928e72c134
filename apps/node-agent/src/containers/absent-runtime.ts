import { RuntimeProblem, type PodRuntime } from '@roundsman/containers';

/** Stands where a node has no container runtime: nothing is there, nothing can be started, and each refusal says why. */
export function absentRuntime(why: string): PodRuntime {
  const refuse = (): Promise<never> => Promise.reject(new RuntimeProblem('Unavailable', why));
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    version: '',
    problem: () => Promise.resolve(why),
    image: refuse,
    pull: refuse,
    loadImages: refuse,
    removeOldBuilds: refuse,
    startSandbox: refuse,
    sandbox: () => Promise.resolve(undefined),
    ensureNetwork: refuse,
    removeNetwork: nothing,
    removePod: nothing,
    startContainer: refuse,
    stopContainer: nothing,
    removeContainer: nothing,
    inspect: () => Promise.resolve(undefined),
    pods: () => Promise.resolve([]),
    watch: () => () => undefined,
    logs: refuse,
    exec: refuse,
    attach: refuse,
    connect: refuse,
    stats: () => Promise.resolve(new Map()),
    close: nothing,
  };
}
