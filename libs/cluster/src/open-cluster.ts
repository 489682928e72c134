import type { Cluster } from './cluster.ts';

export interface ClusterOptions {
  /** File of a kubeconfig (its current context counts), or `in-cluster`: the service account of the own pod. */
  readonly kubeconfig: string;
  /** Names us in the logs of the server. */
  readonly userAgent: string;
  readonly log?: { warn(fields: object, message: string): void; debug(fields: object, message: string): void };
}

/** Does not wait for anything: a kubeconfig or a server that is not there yet fails what is asked of it, not this. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  throw new Error(`cannot open ${options.kubeconfig}`);
}
