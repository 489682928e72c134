import { spawn } from 'node:child_process';

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: 'C' });

/** A program that failed, or was given up. */
export class ChildProblem extends Error {
  override readonly name = 'ChildProblem';
  /** It did not end in time. */
  readonly gaveUp: boolean;

  constructor(message: string, { gaveUp = false, ...options }: ErrorOptions & { readonly gaveUp?: boolean } = {}) {
    super(message, options);
    this.gaveUp = gaveUp;
  }
}

/**
 * Runs a program that touches files of a server that may never answer: a process of its own can be left behind, a thread of the agent could not. Throws
 * ChildProblem with what it said, `ENOENT` as its code's name where it does not exist; after `limitMs` it is killed and given up, whether it ends or not.
 */
export function runChild(program: string, args: readonly string[], limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said = `${said}${bytes.toString()}`.slice(-2_000)));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      reject(new ChildProblem(`${program} did not end within ${limitMs / 1000} s`, { gaveUp: true }));
    }, limitMs);
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(new ChildProblem(error.code === 'ENOENT' ? `${program} is not there` : error.message, { cause: error }));
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(said);
      else reject(new ChildProblem(said.trim() || `${program} ended with ${code}`));
    });
  });
}
