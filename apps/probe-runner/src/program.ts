import { writeSync } from 'node:fs';
import { messageOf, type RunnerLog } from './log.ts';

/**
 * Ends the process in order on SIGTERM and SIGINT, on an error that nobody caught, and when the answer is called: with its code, or 1 when `stop` fails or
 * takes longer than `withinMs`. A second signal ends it at once.
 */
export function endOnSignals(log: RunnerLog, withinMs: number, stop: () => Promise<void>): (code: number) => Promise<void> {
  let ending = false;
  const end = async (code: number): Promise<void> => {
    if (ending) process.exit(code === 0 ? 130 : code);
    ending = true;
    setTimeout(() => process.exit(1), withinMs).unref();
    try {
      await stop();
      process.exit(code);
    } catch (error) {
      log.error({ err: error }, 'did not stop cleanly');
      process.exit(1);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(0));
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'an error was thrown and nobody caught it');
    void end(1);
  });
  return end;
}

/** What keeps a program from starting is said on standard error, by the program's name. */
export function exitOnProblem(program: string, running: Promise<void>): void {
  running.catch((error: unknown) => {
    writeSync(2, `${program}: ${messageOf(error)}\n`);
    process.exit(1);
  });
}
