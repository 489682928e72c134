import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { goAhead } from './priority.ts';
import { record } from './processes.ts';
import type { RecordedProcess } from './home.ts';

export interface ServerCommand {
  /** `nats`: names it in messages and in state.json. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A server of ours as a child in a process group of its own: Ctrl-C in the terminal must not end it before its users. */
export class ServerProcess {
  readonly recorded: RecordedProcess;
  readonly #child: ChildProcess;
  readonly #command: ServerCommand;
  /** Resolves with the reason when the process ends, however it does. */
  readonly ended: Promise<string>;
  #running = true;

  private constructor(command: ServerCommand, child: ChildProcess, ended: Promise<string>) {
    this.#command = command;
    this.#child = child;
    this.recorded = record(command.name, child.pid!) ?? { name: command.name, pid: child.pid!, started: 'gone' };
    this.ended = ended.then((reason) => {
      this.#running = false;
      return reason;
    });
  }

  /** Rejects when the program cannot be started; what it says goes to the log file. */
  static async start(command: ServerCommand): Promise<ServerProcess> {
    const log = openSync(command.logFile, 'a', 0o600);
    const child = spawn(command.command, command.args, {
      stdio: ['ignore', log, log],
      detached: true,
      cwd: command.cwd ?? '/',
      env: command.env ?? process.env,
      ...(command.uid === undefined ? {} : { uid: command.uid, gid: command.gid }),
    });
    closeSync(log);
    const ended = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
      child.once('error', (error) => resolve(error.message));
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new Error(`cannot start ${command.command}: ${error.message}`, { cause: error })));
    });
    goAhead(child.pid!);
    return new ServerProcess(command, child, ended);
  }

  get running(): boolean {
    return this.#running;
  }

  /** Waits for `ready` (asked every 10 ms). Rejects with the end of the log when the server ends first or time is over. */
  async whenReady(ready: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!(await ready())) {
      if (!this.#running) throw new Error(`${this.#command.name} ended (${await this.ended})\n${tail(this.#command.logFile)}`);
      if (Date.now() > deadline) throw new Error(`${this.#command.name} was not ready within ${withinMs} ms\n${tail(this.#command.logFile)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Sends the signals one after another, each with its time, until the process is gone. */
  async stop(steps: readonly { signal: NodeJS.Signals; withinMs: number }[]): Promise<void> {
    for (const { signal, withinMs } of steps) {
      if (!this.#running) return;
      this.#child.kill(signal);
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([this.ended, new Promise((resolve) => (timer = setTimeout(resolve, withinMs)))]);
      clearTimeout(timer);
    }
  }
}

/** The last lines of a log file, indented. */
export function tail(file: string, lines = 12): string {
  if (!existsSync(file)) return '';
  const all = readFileSync(file, 'utf8').trimEnd().split('\n');
  return all
    .slice(-lines)
    .map((line) => `    ${line}`)
    .join('\n');
}
