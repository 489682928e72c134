import { existsSync, renameSync, statSync } from 'node:fs';
import { makeLogger } from '@roundsman/service';
import { pino, type Logger } from 'pino';
import type { Home } from './home.ts';
import { formatOf, levelOf } from './serve.ts';

const maxLogBytes = 16 << 20;

/** `logs/roundsman.log`; the one before it is kept when it has grown large. */
export function logTo(home: Home): Logger {
  const file = home.file('logs', 'roundsman.log');
  if (existsSync(file) && statSync(file).size > maxLogBytes) renameSync(file, `${file}.1`);
  const stream = pino.destination({ dest: file, append: true, sync: true, mkdir: true, mode: 0o600 });
  return makeLogger({ level: levelOf(process.env), format: formatOf(process.env, true), stream });
}
