import { existsSync, readdirSync } from 'node:fs';
import { DockerPodRuntime, nodeSandboxUid, RuntimeProblem } from '@roundsman/containers';
import { findDocker } from './docker.ts';
import type { Home } from './home.ts';
import { membershipOf } from './join/membership.ts';
import { unmountBelow } from './mounted.ts';

/** The containers of pods that the nodes of this home run, and only those. */
export interface HomePods {
  /** How many pods there are. */
  readonly found: number;
  /** Why Docker could not be asked; pods may then be left. */
  readonly problem?: string;
  /** What their volumes have mounted and could not be unmounted. */
  readonly mounted: readonly string[];
}

/** Whose containers this home makes: its own cluster's, or those of the one it joined. */
export const clusterOf = (home: Home): string => membershipOf(home)?.cluster ?? home.id;

/**
 * Ends and removes the pods, and the network namespaces, of nodes that do not run (all that the home has or had, if none are named), and what their volumes have
 * mounted: some of it holds secrets. The cluster still wants them: they are made again when it is started again.
 */
export async function endPods(home: Home, nodes?: readonly string[]): Promise<HomePods> {
  const state = home.state();
  if (state?.docker === undefined) return { found: 0, mounted: [] };
  const docker = await findDocker(state.docker, undefined).catch((error: Error) => ({ missing: error.message }));
  if ('missing' in docker) return { found: 0, mounted: [], problem: docker.missing };
  const cluster = clusterOf(home);
  let found = 0;
  const mounted: string[] = [];
  for (const node of nodes ?? new Set([...state.nodes, ...foldersIn(home.file('data', 'runners'))])) {
    const runtime = new DockerPodRuntime({ cluster, node, socketPath: docker.socket });
    try {
      const pods = await runtime.pods();
      found += pods.length;
      // A few at a time: that is what a daemon does best.
      for (let at = 0; at < pods.length; at += 8) await Promise.all(pods.slice(at, at + 8).map(({ podUid }) => runtime.removePod(podUid)));
      // The node's own network namespace, if it has one.
      await runtime.removePod(nodeSandboxUid({ cluster, node }));
      mounted.push(...unmountBelow(home.file('data', 'runners', node, 'pods')));
    } catch (error) {
      if (!(error instanceof RuntimeProblem)) throw error;
      return { found, mounted, problem: error.message };
    } finally {
      await runtime.close();
    }
  }
  return { found, mounted };
}

const foldersIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
