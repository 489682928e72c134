import { spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { howToUse } from './access.ts';
import type { Home, State } from './home.ts';
import { endLeftovers } from './leftovers.ts';
import { holderOf, releaseHome, takeHome } from './lock.ts';
import { alive } from './processes.ts';
import { tail } from './server-process.ts';
import { UserError } from './user-error.ts';

/** Set for the process in the background: it reports over descriptor 3. */
const backgroundMark = 'ROUNDSMAN_BACKGROUND';
const inBackground = process.env[backgroundMark] === '1';
// Its children are no supervisors.
delete process.env[backgroundMark];
/** Node flags of a supervisor: a small young generation. (With 1 MiB, or code favoured for size, idling costs twice the processor time.) */
const supervisorFlags = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning'];

type Progress = { say: string } | { ready: State } | { already: State } | { failed: string; hint?: string };
type Tell = (progress: Progress) => void;

/** What holds a home and runs until it is told to stop. */
export interface Supervised {
  readonly log: Logger;
  /** Resolves when everything is ready; on failure stops what was started and rejects. */
  start(): Promise<State>;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
  /** On SIGUSR2: who may connect has changed. Resolves when that holds. */
  reloadMembers?(): Promise<void>;
}

export interface StayOptions {
  /** Return when it is ready, and leave it running in the background. */
  readonly detach: boolean;
  /** The words with which this program starts the same in the background. */
  readonly command: readonly string[];
  /** Options in which what runs already differs from what is asked for. */
  readonly differs?: (running: State) => string[];
  /** Told what is being done, for people; `onFatal`: something that cannot be mended ended while running. */
  readonly make: (say: (text: string) => void, onFatal: (error: Error) => void) => Promise<Supervised>;
}

/** Takes the home and runs in it, here or in the background; when it runs already, says so. */
export async function stay(home: Home, options: StayOptions): Promise<void> {
  const tell = reporter(home);
  for (;;) {
    const running = await runningState(home);
    if (running) {
      tell({ already: running });
      const others = options.differs?.(running) ?? [];
      if (others.length > 0) {
        process.stderr.write(`roundsman: it runs with other options than asked for now (${others.join(', ')}); to change them: npx roundsman down --keep-pods, then up again\n`);
        // What was asked for was not done.
        process.exitCode = 1;
      }
      return;
    }
    if (options.detach && !inBackground) return await startInBackground(home, options);
    // Undefined: the home is ours. Otherwise somebody was quicker, and may soon be ready.
    if (takeHome(home) === undefined) return await runHere(home, options, tell);
  }
}

/** To the terminal, or to the process that waits for us. */
function reporter(home: Home): (progress: Progress) => void {
  if (inBackground) {
    return (progress) => {
      try {
        writeSync(3, `${JSON.stringify(progress)}\n`);
        if (!('say' in progress)) closeSync(3);
      } catch (error) {
        // Whoever waited has gone: we go on.
        if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
      }
    };
  }
  return (progress) => show(home, progress, '\nCtrl-C stops it.\n');
}

function show(home: Home, progress: Progress, last = ''): void {
  if ('say' in progress) process.stderr.write(`${progress.say}\n`);
  else if ('ready' in progress && progress.ready.memberOf !== undefined) process.stdout.write(`This machine is node ${progress.ready.nodes[0]} of the cluster at ${progress.ready.memberOf}. logs in ${home.file('logs')}\n${last}`);
  else if ('already' in progress && progress.already.memberOf !== undefined) process.stdout.write(`This machine is node ${progress.already.nodes[0]} of the cluster at ${progress.already.memberOf} already.\n`);
  else if ('ready' in progress) process.stdout.write(`${readyLine(progress.ready)}\n${howToUse(home, progress.ready)}${last}`);
  else if ('already' in progress) process.stdout.write(`Roundsman runs already (process ${progress.already.supervisor.pid}, ${count(progress.already.nodes.length, 'node')}).\n${howToUse(home, progress.already)}`);
}

/** Of a home that somebody has taken: waits until it is ready. Undefined when nobody has it. */
async function runningState(home: Home): Promise<State | undefined> {
  for (let told = false; ; ) {
    const holder = holderOf(home);
    if (!holder || !alive(holder)) return undefined;
    const state = home.state();
    if (state?.phase === 'ready' && state.supervisor.pid === holder.pid) return state;
    if (!told) process.stderr.write(`Another process (${holder.pid}) is starting or stopping Roundsman in ${home.path}; waiting for it ...\n`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The home is ours. */
async function runHere(home: Home, options: StayOptions, tell: Tell): Promise<void> {
  let ending: Promise<never> | undefined;
  const end = (code: number): Promise<never> => (ending ??= stopAndExit(code));
  const supervisor = await options.make(
    (text) => tell({ say: text }),
    (error) => {
      process.stderr.write(`roundsman: ${error.message}; stopping\n`);
      void end(1);
    },
  );
  async function stopAndExit(code: number): Promise<never> {
    const problem = await supervisor.stop().then(() => undefined, (error: unknown) => error as Error);
    if (problem) process.stderr.write(`roundsman: did not stop cleanly: ${problem.message}\n`);
    releaseHome(home);
    process.exit(problem ? 1 : code);
  }
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      signals += 1;
      // A terminal sends one to us and npm hands on another: only a person who insists gets the hard way.
      if (signals === 1 && !options.detach) process.stderr.write('\nStopping ...\n');
      if (signals > 4) process.exit(130);
      void end(0);
    });
  }
  process.on('SIGUSR2', () => {
    supervisor.reloadMembers?.().catch((error: unknown) => supervisor.log.error({ err: error }, 'who may connect has changed, and NATS does not know'));
  });
  for (const [event, words] of [['unhandledRejection', 'a promise was rejected and nobody handled it'], ['uncaughtException', 'an error was thrown and nobody caught it']] as const) {
    process.on(event, (error: unknown) => {
      supervisor.log.fatal({ err: error instanceof Error ? error : new Error(String(error)) }, words);
      void end(1);
    });
  }
  try {
    const left = await endLeftovers(home);
    if (left.length > 0) tell({ say: `Ended ${count(left.length, 'process')} that a killed Roundsman had left behind.` });
    tell({ ready: await supervisor.start() });
  } catch (error) {
    releaseHome(home);
    if (ending) return await ending;
    const failure = error as Error;
    if (!inBackground) throw new UserError(`cannot start: ${failure.message}`, failure instanceof UserError ? failure.hint : `See ${home.file('logs')}`, { cause: error });
    tell({ failed: failure.message, ...(failure instanceof UserError && failure.hint ? { hint: failure.hint } : {}) });
    process.exit(1);
  }
}

async function startInBackground(home: Home, { command }: StayOptions): Promise<void> {
  const logFile = home.file('logs', 'supervisor.log');
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...supervisorFlags, fileURLToPath(new URL('./main.js', import.meta.url)), ...command], {
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
    cwd: '/',
    env: { ...process.env, ROUNDSMAN_HOME: home.path, [backgroundMark]: '1' },
  });
  closeSync(log);
  const interrupt = (): void => void child.kill('SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  const exited = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  const pipe = child.stdio[3] as Readable;
  for await (const line of createInterface({ input: pipe })) {
    const progress = JSON.parse(line) as Progress;
    if ('failed' in progress) {
      await exited;
      throw new UserError(`cannot start: ${progress.failed}`, progress.hint ?? `${home.file('logs', 'roundsman.log')} ends with:\n${tail(home.file('logs', 'roundsman.log'))}`);
    }
    show(home, progress);
    if (!('say' in progress)) {
      child.unref();
      process.exit(0);
    }
  }
  const code = await exited;
  if (code === 0) throw new UserError('stopped before it was ready', undefined, { exitCode: 130 });
  throw new UserError(`cannot start: the process in the background ended with code ${code}`, `${logFile} ends with:\n${tail(logFile)}`);
}

const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : thing.endsWith('s') ? 'es' : 's'}`;

function readyLine(state: State): string {
  const seconds = (Date.parse(state.readyAt ?? state.startedAt) - Date.parse(state.startedAt)) / 1000;
  return `Roundsman is up: ${count(state.nodes.length, 'node')}, ready in ${seconds.toFixed(1)} s.`;
}
