import { addAbortSignal, type Duplex, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ContainerAttachOptions } from 'dockerode';
import { RuntimeProblem, type ExecOptions, type ExecSession } from '../pod-runtime.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { split } from './demultiplex.ts';

/** How long the daemon may take to notice that a program has started (its terminal then has a size), or that it has ended after its output, milliseconds. */
const settleMs = 10_000;
const retryMs = 20;
const longestRetryMs = 500;

/** A program of its own in the container. One that is not there ends with 126 or 127 and the daemon's words as output. */
export async function execIn(daemon: Daemon, id: string, { command, stdin, tty }: ExecOptions, signal: AbortSignal): Promise<ExecSession> {
  const exec = await inWords(daemon, id, (docker) =>
    docker.getContainer(id).exec({ Cmd: [...command], AttachStdin: stdin, AttachStdout: true, AttachStderr: true, Tty: tty }),
  );
  const stream = await inWords(daemon, id, () => exec.start({ hijack: true, stdin, Tty: tty }));
  return session({
    stream: addAbortSignal(signal, stream),
    stdin,
    tty,
    resize: (size) => exec.resize(size),
    exitCode: () =>
      exitCodeOf(signal, async () => {
        const { Running, ExitCode } = await daemon.ask('NotFound', () => exec.inspect());
        return Running ? null : ExitCode;
      }),
  });
}

/** To the container's own program. */
export async function attachTo(daemon: Daemon, id: string, { stdin }: Omit<ExecOptions, 'command'>, signal: AbortSignal): Promise<ExecSession> {
  const { Tty } = (await inWords(daemon, id, (docker) => docker.getContainer(id).inspect())).Config;
  const options: ContainerAttachOptions = { stream: true, hijack: true, stdin, stdout: true, stderr: true };
  const stream = (await inWords(daemon, id, (docker) => docker.getContainer(id).attach(options))) as Duplex;
  return session({
    stream: addAbortSignal(signal, stream),
    stdin,
    tty: Tty,
    resize: async (size) => (await daemon.client()).getContainer(id).resize(size),
    exitCode: () =>
      exitCodeOf(signal, async () => {
        const { State } = await daemon.ask('NotFound', (docker) => docker.getContainer(id).inspect());
        return State.Running ? null : State.ExitCode;
      }),
  });
}

interface Connected {
  readonly stream: Duplex;
  readonly stdin: boolean;
  readonly tty: boolean;
  resize(size: { w: number; h: number }): Promise<unknown>;
  exitCode(): Promise<number | undefined>;
}

function session({ stream, stdin, tty, resize, exitCode }: Connected): ExecSession {
  const ended = new AbortController();
  const over = finished(stream, { writable: false }).catch(() => undefined).then(() => ended.abort());
  const output: { readonly stdout: Readable; readonly stderr?: Readable } = tty ? { stdout: stream } : split(stream);
  const code = over.then(exitCode).catch(() => undefined);
  return {
    stdin: stdin ? stream : undefined,
    stdout: output.stdout,
    stderr: output.stderr,
    exitCode: code,
    resize: async (columns, rows) => {
      // A client tells its size at once, the program may not run yet.
      for (const deadline = Date.now() + settleMs; !ended.signal.aborted; ) {
        try {
          await resize({ w: columns, h: rows });
          return;
        } catch (error) {
          if (Date.now() > deadline || statusOf(error) === undefined) return;
          await new Promise((done) => setTimeout(done, retryMs));
        }
      }
    },
  };
}

/** The output may end a moment before the daemon knows how the program ended: until then it answers null. Undefined when the program goes on, or nobody listens any more (`signal`). */
async function exitCodeOf(signal: AbortSignal, look: () => Promise<number | null>): Promise<number | undefined> {
  const deadline = Date.now() + settleMs;
  for (let waitMs = retryMs; !signal.aborted; waitMs = Math.min(2 * waitMs, longestRetryMs)) {
    const exitCode = await look();
    if (exitCode !== null) return exitCode;
    if (Date.now() > deadline) return undefined;
    await new Promise((done) => setTimeout(done, waitMs));
  }
  return undefined;
}

async function inWords<T>(daemon: Daemon, id: string, request: Parameters<typeof daemon.ask<T>>[1]): Promise<T> {
  try {
    return await daemon.ask('Exec', request);
  } catch (error) {
    if (statusOf(error) === 404) throw new RuntimeProblem('NotFound', `container ${id} is not there`, { cause: error });
    throw error;
  }
}
