import { setTimeout as sleep } from 'node:timers/promises';
import type { Materials, WorkOrder } from '@roundsman/api';
import { messages, ServiceError, type Bus } from '@roundsman/bus';
import { messageOf } from '../log.ts';

const firstWaitMs = 250;
const longestWaitMs = 4_000;

/** Materials could not be had; the message says why. */
export class NoMaterials extends Error {
  override readonly name = 'NoMaterials';
}

/** There is nothing to be measured any more: it was canceled, or its task deleted, before the materials were asked for. */
export class RoundOver extends Error {
  override readonly name = 'RoundOver';
}
const gone = 410;

/**
 * Body and TLS files of a round, asked for until the signal ends it. An answer that is a refusal (4xx) is final. Rejects with
 * NoMaterials, also when the time ran out, or with RoundOver.
 */
export async function fetchMaterials(bus: Bus, order: WorkOrder, signal: AbortSignal): Promise<Materials> {
  if (!order.needsMaterials) return {};
  const { runner, taskUid, round } = order;
  let last = 'they were not asked for';
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      return await bus.request(messages.materials, { runner }, { taskUid, round });
    } catch (error) {
      if (error instanceof ServiceError && error.code === gone) throw new RoundOver(error.message);
      if (error instanceof ServiceError && error.code >= 400 && error.code < 500) throw new NoMaterials(`body or TLS files of the task were refused: ${error.message}`);
      last = messageOf(error);
    }
    // An abort ends the wait; the loop's condition sees it.
    await sleep(Math.min(longestWaitMs, firstWaitMs * 2 ** attempt), undefined, { signal }).catch(() => undefined);
  }
  throw new NoMaterials(`body or TLS files of the task could not be fetched: ${last}`);
}
