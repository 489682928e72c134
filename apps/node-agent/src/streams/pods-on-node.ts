import type { Pod } from '@roundsman/api';

/** One run of a container. */
export interface RunOnNode {
  readonly id: string;
  readonly state: 'created' | 'running' | 'exited';
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** A pod as its node knows it. */
export interface PodOnNode {
  /** With the status that was told last. */
  readonly pod: Pod;
  /** Newest first, by container. */
  readonly runs: ReadonlyMap<string, readonly RunOnNode[]>;
}

/** The pods of a node by uid, as streams and statistics look them up. */
export interface PodsOnNode {
  readonly workers: ReadonlyMap<string, PodOnNode>;
}
