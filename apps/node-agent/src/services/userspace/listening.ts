import type { Side, Target } from './target.ts';

/** One address and port that this process answers on. */
export interface Listening {
  /** Resolves when it is bound; rejects with the reason of the system. */
  readonly bound: Promise<void>;
  /** Endpoints have changed: flows that know no end and lead to one that is gone are cut. */
  retarget(): void;
  /** Connections that are open go on. */
  close(): void;
}

export interface Place {
  readonly address: string;
  readonly port: number;
  readonly side: Side;
  readonly target: Target;
}
