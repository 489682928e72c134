import type { CoreMessage } from './catalogue.ts';
import type { Delivered, Params, Subscription } from './bus.ts';
import type { Connection } from './connection.ts';
import { decodeJson } from './codec.ts';
import { SharedDecoder } from './decoded.ts';
import { filterOf, paramsOf } from './subject.ts';
import { messageOf } from './log.ts';

/** Messages kept for a handler that is behind; more are dropped and counted, as core NATS itself would. */
const backlog = 16_384;

/** Of each message that is shared, over all connections of the process. */
const shared = new Map<CoreMessage<unknown>, SharedDecoder>();
function decoderOf(message: CoreMessage<unknown>): SharedDecoder | undefined {
  if (message.shared !== true) return undefined;
  let decoder = shared.get(message);
  if (decoder === undefined) shared.set(message, (decoder = new SharedDecoder()));
  return decoder;
}

export interface SubscriptionCounts {
  /** Payloads or subjects that the catalogue refuses. */
  invalid: number;
  failed: number;
  overflowed: number;
}

/** One handler, called for one message after another; what it throws is logged and counted, never lost silently. */
export async function subscribe<T>(
  connection: Connection,
  message: CoreMessage<T>,
  params: Params,
  handle: (delivered: Delivered<T>) => void | Promise<void>,
  queue: string | undefined,
  counts: SubscriptionCounts,
): Promise<Subscription> {
  const filter = filterOf(message, params);
  const { log, identity } = connection;
  const decoder = decoderOf(message as CoreMessage<unknown>);
  const waiting: { subject: string; data: Uint8Array }[] = [];
  let running: Promise<void> | undefined;
  let stopped = false;

  const problem = (kind: keyof SubscriptionCounts, subject: string, error: unknown): void => {
    counts[kind] += 1;
    log.warn({ identity, subject, error: messageOf(error), kind, count: counts[kind] }, 'message not handled');
  };
  const one = (subject: string, data: Uint8Array): void | Promise<void> => {
    let delivered: Delivered<T>;
    try {
      const params = paramsOf(message, subject);
      delivered = { subject, params, payload: decoder === undefined ? decodeJson(message.schema, data, subject) : decoder.decode(message.schema, data, subject) };
      const foreign = message.speaksFor?.find((member) => (delivered.payload as Record<string, unknown>)[member] !== params[member]);
      if (foreign !== undefined) throw new Error(`its ${foreign} is not that of its subject`);
    } catch (error) {
      problem('invalid', subject, error);
      return;
    }
    try {
      const done = handle(delivered);
      return done instanceof Promise ? done.catch((error: unknown) => problem('failed', subject, error)) : undefined;
    } catch (error) {
      problem('failed', subject, error);
    }
  };
  const drain = async (first: Promise<void>): Promise<void> => {
    await first;
    // Taken whole: shifting a long array one by one is quadratic.
    while (waiting.length > 0) {
      for (const { subject, data } of waiting.splice(0)) {
        if (stopped) return;
        await one(subject, data);
      }
    }
    running = undefined;
  };

  const subscription = connection.nats.subscribe(filter, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, msg) => {
      if (error !== null) {
        log.error({ identity, subject: filter, error: error.message }, 'subscription refused');
        return;
      }
      if (running !== undefined) {
        if (waiting.length < backlog) waiting.push({ subject: msg.subject, data: msg.data });
        else problem('overflowed', msg.subject, new Error(`more than ${backlog} messages are waiting`));
        return;
      }
      const done = one(msg.subject, msg.data);
      if (done !== undefined) running = drain(done);
    },
  });
  const leave = decoder?.join();
  // The server knows of it before anyone acts on having subscribed.
  await connection.announced();
  return {
    stop: async () => {
      if (!stopped) leave?.();
      stopped = true;
      if (!subscription.isClosed()) subscription.unsubscribe();
      await running;
    },
  };
}
