import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const main = join(root, 'apps', 'roundsman', 'dist', 'main.js');

/** One service of the product as a process of its own, killed and started again by a test. */
export class ServiceProcess {
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** Where the log of the present process begins, bytes. */
  #logFrom = 0;

  constructor(
    readonly name: string,
    readonly service: string,
    readonly env: NodeJS.ProcessEnv,
    readonly logFile: string,
    /** Network namespace that it runs in; default: that of this process. */
    readonly namespace?: string,
  ) {}

  start(): void {
    const log = openSync(this.logFile, 'a');
    this.#logFrom = fstatSync(log).size;
    const command = [process.execPath, main, 'serve', this.service];
    const [program = '', ...args] = this.namespace === undefined ? command : ['nsenter', `--net=${this.namespace}`, '--', ...command];
    const child = spawn(program, args, { env: this.env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child?.kill(signal);
    await this.#exited;
  }

  log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  /** What the present process has logged, not those before it; a line that is being written is left out. */
  logOfThisRun(): string[] {
    return readFileSync(this.logFile).subarray(this.#logFrom).toString().split('\n').slice(0, -1);
  }

  /** Its name and the last lines of its log. */
  lastWords(lines: number): string {
    return `--- ${this.name}\n${this.log().trimEnd().split('\n').slice(-lines).join('\n')}`;
  }
}
