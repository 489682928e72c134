import { DeliverPolicy } from '@nats-io/jetstream';
import type { ConsumerMessages } from '@nats-io/jetstream';
import type { StreamMessage } from './catalogue.ts';
import type { Delivered, Params, Subscription } from './bus.ts';
import type { Connection } from './connection.ts';
import { decodeJson } from './codec.ts';
import { filterOf, paramsOf } from './subject.ts';
import { messageOf } from './log.ts';

/** Follows a stream with an ordered consumer; set up again after every interruption where it left off. */
export async function replay<T>(
  connection: Connection,
  message: StreamMessage<T>,
  params: Params,
  afterSeq: number | 'now',
  handle: (delivered: Delivered<T> & { seq: number }) => void,
): Promise<Subscription> {
  const filter = filterOf(message, params);
  const { log, identity } = connection;
  let last = afterSeq === 'now' ? undefined : afterSeq;
  let stopped = false;
  let messages: ConsumerMessages | undefined;

  const follow = async (): Promise<void> => {
    await connection.whenConnected(60_000);
    const { state } = await connection.jsm.streams.info(message.stream);
    // A wiped store counts from 1 again: what it has now is all new.
    const from = last === undefined ? state.last_seq : state.last_seq < last ? 0 : last;
    last = from;
    const consumer = await connection.js.consumers.get(message.stream, {
      // One string, not a list: so the filter stands in the API subject.
      filter_subjects: filter,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from + 1,
    });
    if (stopped) return;
    messages = await consumer.consume({
      expires: 10_000,
      idle_heartbeat: 2_000,
      max_messages: 256,
      abort_on_missing_resource: true,
      callback: (msg) => {
        if (stopped || msg.seq <= (last ?? 0)) return;
        last = msg.seq;
        try {
          handle({ subject: msg.subject, params: paramsOf(message, msg.subject), payload: decodeJson(message.schema, msg.data, msg.subject), seq: msg.seq });
        } catch (error) {
          log.warn({ identity, subject: msg.subject, seq: msg.seq, error: messageOf(error) }, 'replayed message not handled');
        }
      },
    });
    const ended = await messages.closed();
    if (ended instanceof Error) throw ended;
  };
  const interrupted = (): boolean => stopped || connection.over;
  const loop = async (): Promise<void> => {
    while (!interrupted()) {
      try {
        await follow();
      } catch (error) {
        if (interrupted()) return;
        log.warn({ identity, stream: message.stream, after: last, error: messageOf(error) }, 'replay interrupted; it goes on');
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  };
  const done = loop();
  const stop = async (): Promise<void> => {
    stopped = true;
    offClose();
    messages?.stop();
    await done;
  };
  const offClose = connection.onClose(stop);
  return { stop };
}
