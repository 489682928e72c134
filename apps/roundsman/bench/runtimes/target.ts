import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Counted } from './counting-server.ts';

const program = join(import.meta.dirname, 'counting-server.ts');

/** The counting server, in a process of its own: what else is measured must not make it late. */
export class Target {
  readonly #child: ChildProcess;
  readonly #base: string;

  private constructor(child: ChildProcess, base: string) {
    this.#child = child;
    this.#base = base;
  }

  /** `address`: of this machine, for the cluster's pods. */
  static async start(address: string): Promise<Target> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, address], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new Target(child, `http://${address}:${String(port).trim()}`);
  }

  /** What a task is to ask, so that it is counted under this name. */
  urlOf(task: string): string {
    return `${this.#base}/?task=${task}`;
  }

  async counted(): Promise<Readonly<Record<string, Counted>>> {
    return (await (await fetch(`${this.#base}/counted`)).json()) as Record<string, Counted>;
  }

  /** Once there were so many requests under this name. */
  async reached(task: string, count: number): Promise<Counted> {
    for (;;) {
      const seen = (await this.counted())[task];
      if (seen !== undefined && seen.count >= count) return seen;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  stop(): void {
    this.#child.stdin?.end();
  }
}
