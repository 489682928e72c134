import { parentPort, workerData } from 'node:worker_threads';
import { compilePolicy, runRound, type Measured } from '@roundsman/probes';
import { messageOf } from '../log.ts';
import { keepMeasured } from '../spool/measured.ts';
import type { FromThread, ThreadOrder } from './thread.ts';

const { order, materials, policy, startAtMs, endAtMs, measuredFile } = workerData as ThreadOrder;
const stopping = new AbortController();
const tell = (message: FromThread): void => parentPort?.postMessage(message, []);

let keeping: Promise<void> | undefined;
/** One at a time: a slow disk gets less often what there is. */
function keep(measured: Measured): void {
  keeping ??= keepMeasured(measuredFile, measured)
    .catch((error: unknown) => tell({ notKept: messageOf(error) }))
    .finally(() => (keeping = undefined));
}

parentPort?.on('message', () => stopping.abort());
try {
  const outcome = await runRound(order, materials, {
    signal: stopping.signal,
    policy: compilePolicy(policy),
    startAtMs,
    endAtMs,
    onProgress: (progress) => tell({ progress }),
    onMeasured: keep,
  });
  tell({ outcome });
} catch (error) {
  // Wrong set-up of the round itself; nothing was sent.
  tell({ fault: messageOf(error) });
}
