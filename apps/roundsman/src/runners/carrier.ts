import type { Docker } from '../docker.ts';
import type { Home } from '../home.ts';
import { bringRunnerImage, type RunnerImage } from './image.ts';

/** What carries tasks that have no runtime of their own: pods of a DaemonSet, or processes that agents keep. */
export type Carrier = { readonly kind: 'daemonset'; readonly image: RunnerImage | undefined } | { readonly kind: 'process' };

/**
 * Pods where Docker is, processes elsewhere; ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME chooses, ROUNDSMAN_CONTROLLERS_RUNNER_IMAGE names an image that need not be
 * made. Where none can be made, or pods could not reach this machine (`addresses`: by which others do), tasks are carried by processes, and it is said why.
 */
export async function carrierOf(home: Home, docker: Docker, addresses: readonly string[], env: NodeJS.ProcessEnv, say: (text: string) => void): Promise<Carrier> {
  if ('missing' in docker || env['ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME'] === 'process') return { kind: 'process' };
  const instead = (why: string): Carrier => {
    say(`Runners are processes, not pods: ${why}. Tasks with agentSpec, and targets behind Services, are refused.`);
    return { kind: 'process' };
  };
  if (addresses.length === 0) return instead('this machine has no address but loopback (no default route), so pods cannot reach it');
  if (env['ROUNDSMAN_CONTROLLERS_RUNNER_IMAGE']) return { kind: 'daemonset', image: undefined };
  try {
    return { kind: 'daemonset', image: await bringRunnerImage(home) };
  } catch (error) {
    return instead(`their image cannot be made (${(error as Error).message})`);
  }
}
