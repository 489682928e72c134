import { Readable } from 'node:stream';
import { RuntimeProblem, type LogOptions } from '../pod-runtime.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { entries } from './demultiplex.ts';

interface Query {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tail?: number;
  /** Seconds with a fraction; what is from then counts. */
  readonly since?: string;
}

type Open = (query: Query) => Promise<AsyncIterable<Buffer>>;

/** Output of a container, both streams in order, as the daemon's json-file keeps it. */
export async function containerLogs(daemon: Daemon, id: string, { follow, timestamps, tailLines, sinceMs, limitBytes }: LogOptions, signal: AbortSignal): Promise<Readable> {
  const query: Query = { follow, timestamps, ...(tailLines === undefined ? {} : { tail: tailLines }), ...(sinceMs === undefined ? {} : { since: (sinceMs / 1000).toFixed(3) }) };
  // `follow` beside the query tells dockerode to give a stream; else it would take output apart that happens to be JSON.
  const open: Open = (asked) =>
    daemon.ask('NotFound', (docker, late) => docker.getContainer(id).logs({ follow: true, _query: { stdout: true, stderr: true, ...asked }, abortSignal: AbortSignal.any([signal, late]) } as { follow: true })) as Promise<AsyncIterable<Buffer>>;
  try {
    const { Tty } = (await daemon.ask('NotFound', (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }))).Config;
    const first = await open(Tty || !follow ? query : { ...query, timestamps: true });
    // The output of a terminal is not in frames.
    const output = Tty ? first : follow ? whole(first, open, query) : plain(first, timestamps);
    return Readable.from(inWords(daemon, limitBytes === undefined ? output : upTo(output, limitBytes)), { objectMode: false });
  } catch (error) {
    if (statusOf(error) === 404) throw new RuntimeProblem('NotFound', `container ${id} is not there any more, and its output went with it`, { cause: error });
    throw error;
  }
}

/**
 * What a daemon of version 20 gives to those that follow may lack the end, when the container ended while it wrote: the entries after the last one that
 * came are asked for again. `followed` carries timestamps.
 */
async function* whole(followed: AsyncIterable<Buffer>, open: Open, query: Query): AsyncGenerator<Buffer> {
  let last: string | undefined;
  let atLast = 0;
  const told = asLines(query.timestamps);
  for await (const batch of entries(followed)) {
    const time = timeOf(batch.at(-1) as Buffer);
    const ofThisTime = batch.filter((entry) => timeOf(entry) === time).length;
    atLast = time === last ? atLast + ofThisTime : ofThisTime;
    last = time;
    yield told(batch);
  }
  const { tail: _, ...all } = query;
  const rest = await open(last === undefined ? { ...query, timestamps: true, follow: false } : { ...all, timestamps: true, follow: false, since: secondsOf(last) }).catch((error: unknown) => {
    // Removed as soon as it had ended: that was all.
    if (statusOf(error) === 404) return [] as unknown as AsyncIterable<Buffer>;
    throw error;
  });
  for await (const batch of entries(rest)) yield told(batch.filter((entry) => timeOf(entry) !== last || (atLast -= 1) < 0));
}

async function* plain(source: AsyncIterable<Buffer>, timestamps: boolean): AsyncGenerator<Buffer> {
  const told = timestamps ? asLines(true) : (batch: readonly Buffer[]): Buffer => Buffer.concat(batch);
  for await (const batch of entries(source)) yield told(batch);
}

/** Entries that carry times, as text with a time at the beginning of every line, or without any: a line of more than 16 KiB is several entries. */
function asLines(timestamps: boolean): (batch: readonly Buffer[]) => Buffer {
  let within = false;
  return (batch) =>
    Buffer.concat(
      batch.map((entry) => {
        const bare = timestamps && !within ? entry : entry.subarray(entry.indexOf(' ') + 1);
        within = entry.at(-1) !== newline;
        return bare;
      }),
    );
}

const newline = 0x0a;

/** `2026-01-02T03:04:05.678901234Z` at its beginning. */
const timeOf = (entry: Buffer): string => entry.toString('latin1', 0, entry.indexOf(' '));

const secondsOf = (time: string): string => `${Math.floor(Date.parse(time) / 1000)}.${/\.(\d+)/.exec(time)?.[1] ?? '0'}`;

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
