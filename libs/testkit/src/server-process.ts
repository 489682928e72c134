import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, openSync, closeSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Where stdout and stderr go; shown when the server does not come up. */
  readonly logFile: string;
  /** Removed when this process dies without having stopped the server. */
  readonly directory: string;
  /** Sent when this process dies: the quickest signal after which the server leaves nothing behind. */
  readonly lastSignal: 'KILL' | 'QUIT';
  /** Shell script that removes what the server leaves outside its directory; run when this process dies, before the directory goes. */
  readonly cleanUp?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Waits with the server as its child. When its stdin closes, which happens however the parent dies (SIGKILL included),
 * it ends the server and removes its directory (and no longer listens to the TERM that a server's own end brings).
 * Writes the server's pid to descriptor 3.
 */
const guardian = `
signal=$1; dir=$2; cleanup=$3; shift 3
exec 4<&0
"$@" </dev/null 3>&- 4<&- & pid=$!
echo "$pid" >&3; exec 3>&-
( cat <&4 >/dev/null; trap "" TERM; kill "-$signal" "$pid" 2>/dev/null; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; sh -c "$cleanup"; rm -rf "$dir" ) & watch=$!
exec 4<&-
wait "$pid"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
`;

/** A real server that dies with this process. */
export class ServerProcess {
  #child: ChildProcess | undefined;
  #pid = 0;
  #exited: Promise<void> = Promise.resolve();

  constructor(readonly server: ServerCommand) {}

  get pid(): number {
    return this.#pid;
  }

  async start(): Promise<void> {
    const { command, args, logFile, directory, lastSignal, cleanUp = '', uid, gid } = this.server;
    const log = openSync(logFile, 'a', 0o666);
    const child = spawn('/bin/sh', ['-c', guardian, 'guardian', lastSignal, directory, cleanUp, command, ...args], {
      stdio: ['pipe', log, log, 'pipe'],
      detached: true,
      cwd: directory,
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
    closeSync(log);
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        child.stdin?.destroy();
        resolve();
      });
    });
    const pidPipe = child.stdio[3] as NodeJS.ReadableStream;
    this.#pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      const ended = (): void => reject(new Error(`${command} did not start:\n${this.log()}`));
      child.once('exit', ended);
      pidPipe.once('data', (line: Buffer) => {
        child.off('exit', ended);
        resolve(Number(line.toString()));
      });
    });
    // An un-stopped server must not keep the test process alive; the guardian ends it.
    child.unref();
    for (const stream of [child.stdin, child.stdio[3]]) (stream as unknown as { unref?: () => void } | null)?.unref?.();
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Stands still when this returns, and lives on. */
  pause(): void {
    process.kill(this.#pid, 'SIGSTOP');
    // One thread takes the signal, when its turn comes, and stops the others: until then they go on.
    const late = performance.now() + 60_000;
    while (!this.#stopped()) {
      if (performance.now() > late) throw new Error(`${this.server.command} (process ${this.#pid}) did not stand still within a minute`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }

  resume(): void {
    process.kill(this.#pid, 'SIGCONT');
  }

  #stopped(): boolean {
    const threads = `/proc/${this.#pid}/task`;
    // The state comes after the name, which may hold anything: proc_pid_stat(5).
    const stateOf = (thread: string): string | undefined => /^.*\) (.)/s.exec(readFileSync(join(threads, thread, 'stat'), 'utf8'))?.[1];
    try {
      return readdirSync(threads).every((thread) => stateOf(thread) === 'T');
    } catch (error) {
      // A thread has ended meanwhile, or the server, of which the next signal tells.
      process.kill(this.#pid, 0);
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return false;
    }
  }

  /** Sends the signal to the server itself and waits until it is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (!this.running) return;
    this.#child?.ref();
    try {
      process.kill(this.#pid, signal);
    } catch (error) {
      // It has ended by itself just now; its guardian is about to.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    await this.#exited;
  }

  /** The last lines of the server's log. */
  log(): string {
    return readFileSync(this.server.logFile, 'utf8').split('\n').slice(-40).join('\n');
  }
}

export const temporaryDirectory = (name: string): string => mkdtempSync(join(tmpdir(), `roundsman-${name}-`));
