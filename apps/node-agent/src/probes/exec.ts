import type { ExecAction } from '@roundsman/api';
import type { PodRuntime } from '@roundsman/containers';
import { failure, success, type Outcome } from './outcome.ts';

/** What is kept of a command's output, bytes. */
const mostOutput = 10 << 10;

/** Runs a command in a container to its end; its two outputs in one. Throws when it cannot be run; `signal` gives it up. */
export async function runCommand(runtime: Pick<PodRuntime, 'exec'>, id: string, command: readonly string[], signal: AbortSignal): Promise<{ exitCode: number; output: string }> {
  const session = await runtime.exec(id, { command, stdin: false, tty: false }, signal);
  const parts: Buffer[] = [];
  let bytes = 0;
  const take = async (stream: AsyncIterable<Buffer> | undefined): Promise<void> => {
    if (stream === undefined) return;
    for await (const part of stream) {
      if (bytes < mostOutput) parts.push(part.subarray(0, mostOutput - bytes));
      bytes += part.length;
    }
  };
  await Promise.all([take(session.stdout), take(session.stderr)]);
  const exitCode = await session.exitCode;
  if (exitCode === undefined) throw new Error('the exit code of the command is not known');
  return { exitCode, output: Buffer.concat(parts).toString() };
}

export async function probeExec(runtime: Pick<PodRuntime, 'exec'>, { command = [] }: ExecAction, id: string, signal: AbortSignal): Promise<Outcome> {
  // A command that ignores being given up must not hold the probe.
  const timedOut = new Promise<Outcome>((resolve) => signal.addEventListener('abort', () => resolve(failure(`command ${JSON.stringify(command.join(' '))} timed out`)), { once: true }));
  const ended = runCommand(runtime, id, command, signal).then(
    ({ exitCode, output }) => (exitCode === 0 ? success : failure(output)),
    (error: Error): Outcome => ({ result: 'unknown', message: error.message }),
  );
  return Promise.race([timedOut, ended]);
}
