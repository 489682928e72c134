/** What the runner needs of a logger; pino fits. */
export interface RunnerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const;

/**
 * Writes what pino would write (one JSON object per line), without its memory: a runner is one of many processes and
 * idles most of its life. Throws on an unknown level.
 */
export function leanLog(level: string, fields: object, write: (line: string) => void): RunnerLog {
  const known: Record<string, number> = { trace: 10, ...levels, fatal: 60, silent: 99 };
  const least = known[level];
  if (least === undefined) throw new Error(`ROUNDSMAN_LOG_LEVEL: "${level}" is no level; known are ${Object.keys(known).join(', ')}`);
  const at = (name: keyof typeof levels) => (more: object, msg: string): void => {
    if (levels[name] >= least) write(`${JSON.stringify({ level: levels[name], time: Date.now(), ...fields, ...more, msg }, errors)}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

const errors = (_: string, value: unknown): unknown => (value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
