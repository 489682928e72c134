import { parentPort, workerData } from 'node:worker_threads';
import { compilePolicy, runRound } from '@roundsman/probes';
import type { FromThread, ThreadOrder } from './thread.ts';

const { order, materials, policy, startAtMs } = workerData as ThreadOrder;
const stopping = new AbortController();
const tell = (message: FromThread): void => parentPort?.postMessage(message, []);

parentPort?.on('message', () => stopping.abort());
try {
  const outcome = await runRound(order, materials, {
    signal: stopping.signal,
    policy: compilePolicy(policy),
    startAtMs,
    onProgress: (progress) => tell({ progress }),
  });
  tell({ outcome });
} catch (error) {
  // Wrong set-up of the round itself; nothing was sent.
  tell({ fault: error instanceof Error ? error.message : String(error) });
}
