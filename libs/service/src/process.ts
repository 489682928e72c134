import type { Logger } from 'pino';

/**
 * Ties work to the life of this process: on SIGTERM or SIGINT `stop` runs once and the process ends with 0, or with 1 when
 * it rejects; a second signal ends it at once. What nobody caught is logged as fatal and ends the process with 1 after `stop`:
 * a process in an unknown state must not go on as if it were well.
 */
export function liveUntilSignal(log: Logger, stop: () => Promise<void>): void {
  let ending = false;
  const end = (code: number): void => {
    if (ending) process.exit(code === 0 ? 130 : code);
    ending = true;
    stop().then(
      () => process.exit(code),
      (error: unknown) => {
        log.fatal({ err: error }, 'did not stop cleanly');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping');
      end(0);
    });
  }
  const fatal = (kind: string) => (error: unknown) => {
    log.fatal({ err: error instanceof Error ? error : new Error(String(error)) }, kind);
    end(1);
  };
  process.on('unhandledRejection', fatal('a promise was rejected and nobody handled it'));
  process.on('uncaughtException', fatal('an error was thrown and nobody caught it'));
}
