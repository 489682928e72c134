import type { Connection } from './connection.ts';
import { messages, streams } from './catalogue.ts';
import { encodeJson, readable } from './codec.ts';
import { subjectOf } from './subject.ts';

export interface DeadLetter {
  readonly stream: string;
  readonly consumer: string;
  /** One word: `invalid`, `max-deliver`, `handler`, or what the handler said. */
  readonly reason: string;
  readonly message: string;
  readonly subject: string;
  readonly seq: number;
  readonly deliveries: number;
  readonly data: Uint8Array;
}

/** Half the stream's message limit: JSON quoting may double it. */
const dataLimit = streams.DLQ.maxMsgSize / 4;

/** Resolves when the DLQ stream has it; only then may the original be removed. Twice is once (Msg-Id stream and sequence). */
export async function moveToDeadLetters(connection: Connection, letter: DeadLetter): Promise<void> {
  const reason = letter.reason.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(0, 63) || 'unknown';
  const subject = subjectOf(messages.dlq, { stream: letter.stream, consumer: letter.consumer.replaceAll('_', '.'), reason });
  const body = { subject: letter.subject, reason: letter.reason, message: letter.message, deliveries: letter.deliveries, data: readable(letter.data, dataLimit) };
  connection.log.warn({ subject: letter.subject, reason: letter.reason, message: letter.message }, 'message moved to the dead letters');
  await connection.guarded(subject, () => connection.js.publish(subject, encodeJson(body), { msgID: `${letter.stream}:${letter.seq}`, timeout: 5_000 }));
}

