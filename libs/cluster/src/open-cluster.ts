import type { Cluster } from './cluster.ts';
import { AccessByKubeconfig } from './connection/access.ts';
import { Connection } from './connection/connection.ts';
import { defaultFollowTimes, type FollowTimes, type Log } from './follow/follow.ts';
import { HttpCluster } from './http-cluster.ts';

export interface ClusterOptions {
  /** File of a kubeconfig (its current context counts), or `in-cluster`: the service account of the own pod. */
  readonly kubeconfig: string;
  /** Names us in the logs of the server. */
  readonly userAgent: string;
  readonly log?: Log;
  /** An answer must have begun within so long, and come to its end within so long again; default 30 s. */
  readonly answerMs?: number;
  readonly followTimes?: Partial<FollowTimes>;
}

/** Waits for nothing: a kubeconfig or a server that is not there yet fails what is asked of it, not this. */
export function openCluster({ kubeconfig, userAgent, log, answerMs = 30_000, followTimes }: ClusterOptions): Cluster {
  const access = new AccessByKubeconfig(kubeconfig);
  return new HttpCluster(new Connection(access, { userAgent, answerMs }), { server: () => access.server ?? kubeconfig, times: { ...defaultFollowTimes, ...followTimes }, log });
}
