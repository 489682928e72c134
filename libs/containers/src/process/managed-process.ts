import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { backoffMs, restartDefaults, type ContainerSpec, type ContainerState, type ContainerStatus } from '../runtime.ts';
import { groupOf, identityOf, isAlive, markerVariable, processesMarked, type ProcessIdentity } from './identity.ts';
import { LogFile } from './log-file.ts';

/** How often a process that is not our child is looked at; a child's end is told by the system. */
const watchEveryMs = 500;
const defaultLogBytes = 4 << 20;

type Run = ProcessIdentity & { readonly startedAt: string };
interface Ending {
  readonly exitCode?: number;
  readonly signal?: string;
}

/** One container: its files, its present run, and what happens when that ends. Calls are carried out one after another. */
export class ManagedProcess {
  readonly #id: string;
  readonly #folder: string;
  readonly #changed: (status: ContainerStatus) => void;
  #spec: ContainerSpec | undefined;
  #run: Run | undefined;
  #state: ContainerState = 'exited';
  #ending: Ending = {};
  #problem: string | undefined;
  #adopted = false;
  #wanted = false;
  #restarts = 0;
  /** Ends in a row that came too soon; the wait grows with them. */
  #quickEnds = 0;
  #restartAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #startedAt: string | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(id: string, folder: string, changed: (status: ContainerStatus) => void) {
    this.#id = id;
    this.#folder = folder;
    this.#changed = changed;
  }

  /** Takes up what an earlier process wrote down. A run that still goes on is looked after; it is started again only once `start` asked for it. */
  load(): Promise<void> {
    return this.#next(async () => {
      this.#spec = await readJson<ContainerSpec>(join(this.#folder, 'spec.json'));
      const run = await readJson<Run>(this.#pidFile);
      if (run !== undefined && (await isAlive(run))) this.#adopt(run);
      else await rm(this.#pidFile, { force: true });
    });
  }

  start(spec: ContainerSpec): Promise<void> {
    return this.#next(async () => {
      this.#wanted = true;
      if (this.#run !== undefined && isDeepStrictEqual(this.#spec, plain(spec)) && (await isAlive(this.#run))) return;
      await this.#end(5_000);
      this.#spec = plain(spec);
      this.#wanted = true;
      this.#restarts = 0;
      this.#quickEnds = 0;
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeJson(join(this.#folder, 'spec.json'), this.#spec);
      await this.#launch();
    });
  }

  stop(graceMs: number): Promise<void> {
    this.#wanted = false;
    return this.#next(async () => {
      this.#wanted = false;
      const was = this.#state;
      await this.#end(graceMs);
      if (was !== 'exited') this.#set('exited');
    });
  }

  status(): ContainerStatus {
    const restartAt = this.#restartAt;
    return {
      id: this.#id,
      labels: this.#spec?.labels ?? {},
      state: this.#state,
      ...(this.#run === undefined ? {} : { pid: this.#run.pid }),
      ...(this.#startedAt === undefined ? {} : { startedAt: this.#startedAt }),
      restarts: this.#restarts,
      ...(restartAt === undefined ? {} : { restartAt: new Date(restartAt).toISOString() }),
      ...this.#ending,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      adopted: this.#adopted,
    };
  }

  logs(lines: number): Promise<string> {
    return this.#log.tail(lines);
  }

  rotateLog(): Promise<void> {
    return this.#log.rotate().catch((error: unknown) => {
      this.#problem = `its output could not be rotated: ${String(error)}`;
    });
  }

  async release(): Promise<void> {
    clearTimeout(this.#timer);
    this.#wanted = false;
    await this.#queue;
    clearTimeout(this.#timer);
    this.#run = undefined;
  }

  /** Starts the program now. Whatever still runs under this id without a record is ended first. */
  async #launch(): Promise<void> {
    const spec = this.#spec;
    if (spec === undefined) return;
    this.#restartAt = undefined;
    this.#ending = {};
    for (const stray of await processesMarked(this.#marker)) await killGroup(stray, 0);
    const [program = '', ...args] = spec.command;
    const log = await this.#log.open();
    let child: ChildProcess;
    let exited: Promise<Ending>;
    try {
      child = spawn(program, args, {
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        env: { ...spec.env, [markerVariable]: this.#marker },
        ...(spec.workingDir === undefined ? {} : { cwd: spec.workingDir }),
      });
      // Before anything is awaited: a program that is not there is told in the next tick.
      exited = new Promise<Ending>((resolve) => {
        child.once('error', (error) => {
          this.#problem = error.message;
          resolve({});
        });
        child.once('exit', (exitCode, signal) => resolve({ ...(exitCode === null ? {} : { exitCode }), ...(signal === null ? {} : { signal }) }));
      });
    } finally {
      await log.close();
    }
    // Whoever runs in this process may end: the container is not what keeps it alive.
    child.unref();
    const identity = child.pid === undefined ? undefined : await identityOf(child.pid);
    this.#adopted = false;
    this.#startedAt = new Date().toISOString();
    if (identity !== undefined) {
      const run: Run = { ...identity, startedAt: this.#startedAt };
      try {
        await writeJson(this.#pidFile, run);
      } catch (error) {
        // Nobody would find it again: it does not run on beside the next one.
        await killGroup(run, 0);
        throw error;
      }
      this.#run = run;
      this.#problem = undefined;
      this.#set('running');
      void exited.then((ending) => this.#ended(run, ending));
      return;
    }
    const ending = await exited;
    this.#afterEnd(ending);
  }

  #adopt(run: Run): void {
    this.#run = run;
    this.#adopted = true;
    this.#startedAt = run.startedAt;
    this.#set('running');
    const look = async (): Promise<void> => {
      if (this.#run !== run) return;
      // Who cannot be looked at now may be later.
      if (await isAlive(run).catch(() => true)) this.#timer = setTimeout(() => void look(), watchEveryMs).unref();
      else await this.#ended(run, {});
    };
    this.#timer = setTimeout(() => void look(), watchEveryMs).unref();
  }

  /** A run is over, by itself or because we ended it (then `#run` is another by now). */
  #ended(run: Run, ending: Ending): Promise<void> {
    return this.#next(async () => {
      if (this.#run !== run) return;
      this.#run = undefined;
      try {
        await rm(this.#pidFile, { force: true });
        // What it left behind in its group goes with it.
        for (const stray of await processesMarked(this.#marker)) await killGroup(stray, 0);
      } catch (error) {
        // It is over all the same; the next launch ends strays again.
        this.#problem = `what it left could not be cleared: ${error instanceof Error ? error.message : String(error)}`;
      }
      this.#afterEnd(ending, Date.now() - Date.parse(run.startedAt));
    });
  }

  #afterEnd(ending: Ending, ranMs = 0): void {
    this.#ending = ending;
    const policy = this.#spec?.restart ?? { when: 'never' };
    const again = this.#wanted && (policy.when === 'always' || (policy.when === 'on-failure' && ending.exitCode !== 0));
    if (!again) return this.#set('exited');
    if (ranMs >= (policy.resetMs ?? restartDefaults.resetMs)) this.#quickEnds = 0;
    const waitMs = backoffMs(policy, this.#quickEnds);
    this.#quickEnds += 1;
    this.#restartAt = Date.now() + waitMs;
    this.#timer = setTimeout(() => void this.#next(() => this.#restart()), waitMs).unref();
    this.#set('waiting');
  }

  async #restart(): Promise<void> {
    if (!this.#wanted || this.#run !== undefined) return;
    this.#restarts += 1;
    try {
      await this.#launch();
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
      this.#afterEnd({});
    }
  }

  /** Ends the present run, if there is one. */
  async #end(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#restartAt = undefined;
    const run = this.#run;
    this.#run = undefined;
    if (run !== undefined) await killGroup(run, graceMs);
    for (const stray of await processesMarked(this.#marker)) await killGroup(stray, graceMs);
    await rm(this.#pidFile, { force: true });
  }

  #set(state: ContainerState): void {
    this.#state = state;
    this.#changed(this.status());
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  get #pidFile(): string {
    return join(this.#folder, 'pid.json');
  }

  /** Says whose process it is, whatever becomes of the pidfile. */
  get #marker(): string {
    return this.#folder;
  }

  get #log(): LogFile {
    return new LogFile(join(this.#folder, 'output.log'), this.#spec?.logBytes ?? defaultLogBytes);
  }
}

/**
 * TERM to the process and its group, KILL after `graceMs`. Only this very run is touched: a recycled process id belongs to
 * somebody else. Resolves when it is gone.
 */
async function killGroup(identity: ProcessIdentity, graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  const send = async (signal: NodeJS.Signals): Promise<boolean> => {
    if (!(await isAlive(identity))) return false;
    // It leads a group of its own, unless it was started by one that does.
    const leads = (await groupOf(identity.pid)) === identity.pid;
    try {
      process.kill(leads ? -identity.pid : identity.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
      throw error;
    }
    return true;
  };
  if (graceMs > 0 && !(await send('SIGTERM'))) return;
  while (Date.now() < deadline) {
    if (!(await isAlive(identity))) return;
    await sleep(20);
  }
  while (await send('SIGKILL')) await sleep(20);
}

/** As it comes back from its file: members that are undefined are not there. */
const plain = (spec: ContainerSpec): ContainerSpec => JSON.parse(JSON.stringify(spec)) as ContainerSpec;

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    // Not there, or cut off while it was written: the marker still finds the process.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
