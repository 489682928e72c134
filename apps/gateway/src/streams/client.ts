import type { StatusObject } from '@roundsman/api';

/** What a client of exec and attach sends; `sizes` is JSON text as it came: of one terminal size, of several or of a part of one. */
export type FromClient = { readonly stdin: Uint8Array } | { readonly stdin: 'end' } | { readonly sizes: Uint8Array };

/** How it ended, as kubectl reads it from the error stream. */
export type Ending = Pick<StatusObject, 'metadata'> & { readonly status: 'Success' | 'Failure'; readonly message?: string; readonly reason?: string; readonly details?: object; readonly code?: number };

/** The other end of exec and attach, over whatever it came. */
export interface Client {
  /** In order; ends when the client has gone. It sends no more than what is taken here. */
  readonly incoming: AsyncIterable<FromClient>;
  /** 1 stdout, 2 stderr. Resolves when there is room for more; rejects when it has gone. */
  write(channel: 1 | 2, bytes: Uint8Array): Promise<void>;
  /** Tells how it ended, and closes. */
  finish(ending: Ending): Promise<void>;
  /** Lets go at once. */
  destroy(): void;
}

/** Bytes from a client that wait to be taken. */
export const waitingBytes = 1 << 20;
export const costOf = (item: FromClient): number => ('sizes' in item ? item.sizes.length : item.stdin === 'end' ? 1 : item.stdin.length);
