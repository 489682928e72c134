import type { Pipe, PipeEnding } from '@roundsman/bus';
import { z } from 'zod';
import type { Client, Ending } from './client.ts';

const stdinChannel = 0;
const sizeChannel = 4;
const sizeSchema = z.object({ Width: z.number().int().min(0).max(65_535), Height: z.number().int().min(0).max(65_535) });

/** Carries exec and attach between a client and the agent until either is done, and tells the client how it ended. Never rejects. */
export async function runRemoteCommand(pipe: Pipe, client: Client, kind: 'exec' | 'attach'): Promise<void> {
  void carryUp(client, pipe).then(
    () => pipe.abort('the client went away'),
    () => pipe.abort('the client went away'),
  );
  try {
    for await (const item of pipe.incoming) {
      if ('bytes' in item && (item.channel === 1 || item.channel === 2)) await client.write(item.channel, item.bytes);
    }
  } catch {
    // The client has gone, or the pipe broke: its ending says which.
    pipe.abort('the client went away');
  }
  const { exitCode, ...ending } = await pipe.closed;
  // How the program of a container ended is for its status to say: who attached has seen its end, and that is a success.
  await client.finish(endingOf(kind === 'exec' && exitCode !== undefined ? { ...ending, exitCode } : ending)).catch(() => client.destroy());
}

async function carryUp(client: Client, pipe: Pipe): Promise<void> {
  let part = '';
  for await (const item of client.incoming) {
    if ('stdin' in item) {
      if (item.stdin === 'end') await pipe.end(stdinChannel);
      else await pipe.write(stdinChannel, item.stdin);
      continue;
    }
    const { sizes, rest } = readSizes(part + Buffer.from(item.sizes).toString());
    part = rest;
    // Only the newest counts.
    const size = sizes.at(-1);
    if (size !== undefined) await pipe.write(sizeChannel, Buffer.from(JSON.stringify(size)));
  }
}

/** Sizes in JSON, one after another, with or without lines between; what is no size is passed over. `rest`: the beginning of one more. */
export function readSizes(text: string): { sizes: { Width: number; Height: number }[]; rest: string } {
  const sizes: { Width: number; Height: number }[] = [];
  const end = text.lastIndexOf('}') + 1;
  for (const [one] of text.slice(0, end).matchAll(/\{[^{}]*\}/g)) {
    try {
      sizes.push(sizeSchema.parse(JSON.parse(one)));
    } catch {
      // No size of a terminal: nothing to be done with it.
    }
  }
  return { sizes, rest: text.slice(end).slice(0, 100) };
}

/** As the kubelet words it on the error stream. */
export function endingOf({ exitCode, error, broken }: PipeEnding): Ending {
  const failure = broken === undefined ? error : `the stream to the node broke: ${broken}`;
  if (failure !== undefined) return { metadata: {}, status: 'Failure', message: `Internal error occurred: ${failure}`, reason: 'InternalError', details: { causes: [{ message: failure }] }, code: 500 };
  if (exitCode === undefined || exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
    code: 500,
  };
}
