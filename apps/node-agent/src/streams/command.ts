import type { ExecSession } from '@roundsman/containers';
import type { Pipe } from '@roundsman/bus';
import { z } from 'zod';
import { copyDown, put, takeUp } from './copy.ts';

const channels = { stdin: 0, stdout: 1, stderr: 2, size: 4 } as const;
/** JSON of a client; what is no size is none of the program's business. */
const sizeSchema = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('no JSON');
    return z.NEVER;
  }
}).pipe(z.object({ Width: z.number(), Height: z.number() }));

/** The container runtime went away: that the output ended does not mean that the program did well. */
const unknownEnd = 'the exit code of the command is not known: the container runtime does not tell';

/** Carries a program's streams over a pipe until the program has ended, and tells how, for exec. The session is let go of when the other side goes. */
export async function carryCommand(pipe: Pipe, session: ExecSession, { kind, ...wanted }: { readonly kind: 'exec' | 'attach'; readonly stdout: boolean; readonly stderr: boolean }): Promise<void> {
  void takeUp(pipe, (channel, bytes) => {
    if (channel === channels.stdin && session.stdin !== undefined) return bytes === 'end' ? void session.stdin.end() : put(session.stdin, bytes);
    if (channel === channels.size && bytes !== 'end') return resize(session, bytes);
    return undefined;
  });
  const output = (stream: ExecSession['stderr'], channel: number, asked: boolean): Promise<void> => {
    if (stream === undefined) return Promise.resolve();
    return copyDown(asked ? stream : discarded(stream), pipe, channel);
  };
  await Promise.all([output(session.stdout, channels.stdout, wanted.stdout), output(session.stderr, channels.stderr, wanted.stderr)]);
  // Who attached has seen all there is: the container may well go on (its detach keys), and how it ends is for its status to say.
  if (kind === 'attach') return pipe.close({});
  const exitCode = await session.exitCode;
  await pipe.close(exitCode === undefined ? { error: unknownEnd } : { exitCode });
}

async function resize(session: ExecSession, bytes: Uint8Array): Promise<void> {
  const size = sizeSchema.safeParse(Buffer.from(bytes).toString());
  if (size.success) await session.resize(size.data.Width, size.data.Height);
}

/** Read, so that the program is not held up, and given to nobody. */
async function* discarded(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const _ of stream);
  yield* [];
}
