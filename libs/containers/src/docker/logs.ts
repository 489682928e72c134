import { Readable } from 'node:stream';
import { RuntimeProblem, type LogOptions } from '../pod-runtime.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { merged } from './demultiplex.ts';

/** Output of a container, both streams in order, as the daemon's json-file keeps it. */
export async function containerLogs(daemon: Daemon, id: string, { follow, timestamps, tailLines, sinceMs, limitBytes }: LogOptions, signal: AbortSignal): Promise<Readable> {
  const query = {
    stdout: true,
    stderr: true,
    follow,
    timestamps,
    ...(tailLines === undefined ? {} : { tail: tailLines }),
    ...(sinceMs === undefined ? {} : { since: (sinceMs / 1000).toFixed(3) }),
  };
  // `follow` here tells dockerode to give a stream; else it would take output that happens to be JSON apart.
  const request = { follow: true as const, _query: query, abortSignal: signal };
  try {
    const { Tty } = (await daemon.ask('NotFound', (docker) => docker.getContainer(id).inspect())).Config;
    const stream = await daemon.ask('NotFound', (docker) => docker.getContainer(id).logs(request));
    const output = Tty ? (stream as AsyncIterable<Buffer>) : merged(stream as AsyncIterable<Buffer>);
    return Readable.from(inWords(daemon, limitBytes === undefined ? output : upTo(output, limitBytes)), { objectMode: false });
  } catch (error) {
    if (statusOf(error) === 404) throw new RuntimeProblem('NotFound', `container ${id} is not there any more, and its output went with it`, { cause: error });
    throw error;
  }
}

async function* upTo(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of source) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

async function* inWords(daemon: Daemon, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    throw daemon.problemOf('Unavailable', error);
  }
}
