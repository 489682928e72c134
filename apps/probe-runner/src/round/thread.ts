import { Worker } from 'node:worker_threads';
import type { Materials, WorkOrder } from '@roundsman/api';
import { afterTurning, type PolicySettings, type RoundOutcome, type RoundProgress } from '@roundsman/probes';

/** What a measuring thread is started with. */
export interface ThreadOrder {
  readonly order: Pick<WorkOrder, 'targets' | 'request' | 'expect'>;
  readonly materials: Materials;
  readonly policy: PolicySettings;
  /** When the first request is due, milliseconds since the epoch. */
  readonly startAtMs: number;
  /** When it must have ended, milliseconds since the epoch. */
  readonly endAtMs: number;
  /** Where it writes, now and then, what it has measured so far (`keepMeasured`). */
  readonly measuredFile: string;
}

export type FromThread = { readonly progress: RoundProgress } | { readonly outcome: RoundOutcome } | { readonly fault: string } | { readonly notKept: string };

export interface ThreadOptions {
  /** What the thread runs: `round/worker` of this app. */
  readonly script: URL;
  /** MiB of JavaScript heap; a round that needs more ends as `error`, the runner goes on. */
  readonly heapMb: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RoundProgress) => void;
  /** What it has measured could not be written to its file; it goes on. */
  readonly onNotKept: (problem: string) => void;
}

/** How long a thread may take to hand over what it measured after it was told to stop, milliseconds in which this process ran. */
export const stopGraceMs = 1_200;

/** The thread ended without a result; the message says how, for people. */
export class ThreadFault extends Error {
  override readonly name = 'ThreadFault';
}

/**
 * Measures one round in a thread of its own, with a heap of its own: whatever goes wrong there ends there. An abort of the signal
 * makes it hand over what it measured so far; a thread that does not within 1.2 s is ended. Rejects with a ThreadFault.
 */
export async function measureInThread(order: ThreadOrder, { script, heapMb, signal, onProgress, onNotKept }: ThreadOptions): Promise<RoundOutcome> {
  const worker = new Worker(script, {
    workerData: order,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  });
  let offLate = (): void => undefined;
  const ended = Promise.withResolvers<RoundOutcome>();
  const stop = (): void => {
    worker.postMessage('stop', []);
    offLate = afterTurning(stopGraceMs, () => ended.reject(new ThreadFault('the round did not stop when told to and was ended')));
  };
  worker.on('message', (message: FromThread) => {
    if ('progress' in message) onProgress(message.progress);
    else if ('outcome' in message) ended.resolve(message.outcome);
    else if ('notKept' in message) onNotKept(message.notKept);
    else ended.reject(new ThreadFault(message.fault));
  });
  worker.on('error', (error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `the round needed more than ${heapMb} MiB of memory` : `the round crashed: ${error.message}`;
    ended.reject(new ThreadFault(reason));
  });
  worker.on('exit', (code) => ended.reject(new ThreadFault(`the round ended with code ${code} and no result`)));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    return await ended.promise;
  } finally {
    offLate();
    signal.removeEventListener('abort', stop);
    worker.removeAllListeners('message');
    await worker.terminate();
  }
}
