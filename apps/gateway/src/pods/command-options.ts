import { badRequest } from '@roundsman/api';
import type { Query } from '../http/query.ts';

/** Which streams of a program a client wants. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export function streamOptions(query: Query): StreamOptions {
  const tty = query.flag('tty');
  const options = { stdin: query.flag('stdin'), stdout: query.flag('stdout'), stderr: query.flag('stderr'), tty };
  if (!options.stdin && !options.stdout && !options.stderr) throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  // A terminal has one output.
  return tty ? { ...options, stderr: false } : options;
}

/** The program and its arguments, one `command` each. */
export function commandOf(query: Query): string[] {
  const command = query.all('command');
  if (command.length === 0 || command[0] === '') throw badRequest('you must specify at least one command for the container');
  return command;
}
