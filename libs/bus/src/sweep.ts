import { JetStreamApiError } from '@nats-io/jetstream';
import type { StoredMsg } from '@nats-io/jetstream';
import type { Bus } from './bus.ts';
import { streams } from './catalogue.ts';
import type { Connection } from './connection.ts';
import { moveToDeadLetters } from './deadletters.ts';
import { connectionOf } from './nats-bus.ts';

interface Suspect {
  readonly stream: string;
  readonly consumer: string;
  readonly seq: number;
}

/** An acknowledged message may be in the stream for a moment after its consumer has finished with it. */
const settleMs = 250;

/** 10037 no such message, 10059 no such stream. */
const gone = (error: unknown): boolean => error instanceof JetStreamApiError && (error.code === 10037 || error.code === 10059);

async function stored(connection: Connection, stream: string, query: { seq: number; next_by_subj?: string }): Promise<StoredMsg | undefined> {
  try {
    return (await connection.jsm.streams.getMessage(stream, query as { seq: number })) ?? undefined;
  } catch (error) {
    if (gone(error)) return undefined;
    throw error;
  }
}

/**
 * Messages that their consumer has delivered and no longer waits for: on a work queue, those it gave up on. The server
 * does not move its floor past them, so they show only while the consumer has nothing under way.
 */
async function suspects(connection: Connection, stream: string): Promise<Suspect[]> {
  const found: Suspect[] = [];
  try {
    for await (const { name, config, delivered, ack_floor: floor, num_ack_pending: underWay } of connection.jsm.consumers.list(stream)) {
      const filter = config.filter_subject ?? '>';
      const finished = underWay === 0 ? delivered.stream_seq : floor.stream_seq;
      let seq = 1;
      for (;;) {
        const message = await stored(connection, stream, { seq, next_by_subj: filter });
        if (message === undefined || message.seq > finished) break;
        found.push({ stream, consumer: name, seq: message.seq });
        seq = message.seq + 1;
      }
    }
  } catch (error) {
    if (!gone(error)) throw error;
  }
  return found;
}

/**
 * Moves to the dead letters what a work queue's consumer was given too often, so that the server no longer offers it
 * (`consume` does so itself; this is for what it could not). Safe to run at any time and by several. Answers how many.
 */
export async function sweepDeadLetters(bus: Bus): Promise<number> {
  const connection = connectionOf(bus);
  const queues = Object.entries(streams).filter(([, { retention }]) => retention === 'workqueue');
  const found = (await Promise.all(queues.map(([stream]) => suspects(connection, stream)))).flat();
  if (found.length === 0) return 0;
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  let moved = 0;
  for (const { stream, consumer, seq } of found) {
    const message = await stored(connection, stream, { seq });
    if (message === undefined) continue;
    await moveToDeadLetters(connection, {
      stream,
      consumer,
      reason: 'max-deliver',
      message: `${consumer} was given it as often as the server allows`,
      subject: message.subject,
      seq,
      deliveries: 0,
      data: message.data,
    });
    await connection.jsm.streams.deleteMessage(stream, seq).catch((error: unknown) => {
      if (!gone(error)) throw error;
    });
    moved += 1;
  }
  return moved;
}
