/**
 * A two-way stream of bytes in numbered channels between the gateway and the agent of a node, over core NATS. Frames carry a sequence
 * number, so that a lost one ends the pipe with an error instead of a hole; the receiver grants credit as it takes bytes out, so that
 * neither side can flood the other. A side that hears nothing for a while (frames or keep-alives) takes the other for gone.
 *
 * Channels by purpose:
 * - exec, attach: 0 stdin (up), 1 stdout, 2 stderr (down), 4 terminal size (up: JSON `{"Width":100,"Height":30}`)
 * - logs: 1 output (down)
 * - port: 0 up, 1 down
 */
export interface Pipe {
  readonly session: string;
  /** Resolves when there is room for more; rejects when the pipe has ended. Bytes of any length; they are cut into frames. */
  write(channel: number, bytes: Uint8Array): Promise<void>;
  /** No more on this channel: the other side sees its end, other channels go on. Once is enough; more is nothing. */
  end(channel: number): Promise<void>;
  /**
   * What comes in, in order; an `end` for a channel that the other side ended. Ends when the pipe is closed, after what came before; throws when
   * it broke. Credit is granted as items are taken. For one reader.
   */
  readonly incoming: AsyncIterable<PipeItem>;
  /** Ends both ways after what was written has been sent, however slowly the other side takes it. `outcome` is for the other side, once. */
  close(outcome?: PipeOutcome): Promise<void>;
  /** Ends both ways at once; what waits to be sent is dropped, its writes reject. The other side is told `reason` as the error. */
  abort(reason: string): void;
  /**
   * How it ended, from whichever side; never rejects. Known at once, also while `incoming` still holds what came before. `broken`: the other
   * side was lost.
   */
  readonly closed: Promise<PipeEnding>;
}

export type PipeItem = { readonly channel: number; readonly bytes: Uint8Array } | { readonly channel: number; readonly end: true };

export interface PipeOutcome {
  /** exec: of the program. */
  readonly exitCode?: number;
  /** Why it could not go on, in words for a person. */
  readonly error?: string;
}

export type PipeEnding = PipeOutcome & { readonly broken?: string };
