import type { LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';

export interface LogOptions {
  /** pino level name. */
  readonly level: string;
  /** `pretty` is one readable line per entry; `json` one object per line. */
  readonly format: 'json' | 'pretty';
  /** Where to; standard error for `pretty`, standard output for `json` when not given. */
  readonly stream?: { write(line: string): void };
}

const levels: Record<string, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
const hidden = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'service', 'err']);

/** `12:04:05.123 warn  intake: text  key=value`, errors with their stack below. */
export function prettyLine(json: string): string {
  const entry = JSON.parse(json) as Record<string, unknown> & { err?: { stack?: string; message?: string } };
  const fields = Object.entries(entry)
    .filter(([key]) => !hidden.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const level = levels[String(entry['level'])] ?? 'info';
  const head = `${new Date(Number(entry['time'])).toISOString().slice(11, 23)} ${level.padEnd(5)} ${entry['service'] ? `${entry['service']}: ` : ''}${entry['msg'] ?? ''}`;
  const stack = entry.err ? `\n  ${(entry.err.stack ?? entry.err.message ?? '').replaceAll('\n', '\n  ')}` : '';
  return `${head}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}${stack}\n`;
}

export function makeLogger({ level, format, stream }: LogOptions): Logger {
  const options = { level, base: undefined } as const;
  if (format === 'json') return pino(options, stream ?? pino.destination({ fd: 1, sync: true }));
  const target = stream ?? process.stderr;
  return pino(options, { write: (line: string) => target.write(prettyLine(line)) });
}

/** Nest's own words in our log. Its start-up chatter is debug: it says nothing about the product. */
export class NestLog implements LoggerService {
  readonly #log: Logger;
  constructor(log: Logger) {
    this.#log = log;
  }
  log(message: unknown, context?: string): void {
    this.#log.debug({ context }, String(message));
  }
  debug(message: unknown, context?: string): void {
    this.#log.debug({ context }, String(message));
  }
  verbose(message: unknown, context?: string): void {
    this.#log.trace({ context }, String(message));
  }
  warn(message: unknown, context?: string): void {
    this.#log.warn({ context }, String(message));
  }
  error(message: unknown, stackOrContext?: string, context?: string): void {
    if (message instanceof Error) this.#log.error({ err: message, context: context ?? stackOrContext }, message.message);
    else this.#log.error({ stack: context === undefined ? undefined : stackOrContext, context: context ?? stackOrContext }, String(message));
  }
  fatal(message: unknown, context?: string): void {
    this.#log.fatal({ context }, String(message));
  }
}
