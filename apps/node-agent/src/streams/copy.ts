import type { Pipe } from '@roundsman/bus';

/** All that comes, to one channel of the pipe, no faster than the other side takes it. Rejects when either breaks. */
export async function copyDown(source: AsyncIterable<Uint8Array | string>, pipe: Pipe, channel: number): Promise<void> {
  for await (const chunk of source) await pipe.write(channel, typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
}

/** Resolves when it has been taken. What nobody reads any more is dropped: its reader's end is told elsewhere. */
export function put(target: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (target.writable) target.write(bytes, () => resolve());
    else resolve();
  });
}

/** What comes up, until the pipe ends from whichever side. Never rejects: how a pipe ended is its own affair. */
export async function takeUp(pipe: Pipe, take: (channel: number, bytes: Uint8Array | 'end') => Promise<void> | void): Promise<void> {
  try {
    for await (const item of pipe.incoming) await take(item.channel, 'end' in item ? 'end' : item.bytes);
  } catch {
    // It broke: `closed` says so to those who wait for it.
  }
}
