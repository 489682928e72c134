import type { Writable } from 'node:stream';

/** Resolves when a stream takes more, or is gone. Nothing stays behind: a race with the end of a stream would keep a little of every round until then. */
export function drained(stream: Writable): Promise<void> {
  if (stream.destroyed || !stream.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
