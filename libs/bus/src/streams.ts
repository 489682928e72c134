import { DiscardPolicy, JetStreamApiError, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Bus, ConsumeOptions } from './bus.ts';
import { messages, streams } from './catalogue.ts';
import type { StreamName } from './catalogue.ts';
import { consumerConfig, ensureConsumer } from './consume.ts';
import type { Connection } from './connection.ts';
import { messageOf } from './log.ts';
import { connectionOf } from './nats-bus.ts';
import { encodeToken, filterOf } from './subject.ts';

function configOf(name: StreamName): Partial<StreamConfig> & { name: string } {
  const { subjects, retention, maxAgeMs, maxBytes, maxMsgSize, duplicateWindowMs, maxMsgsPerSubject } = streams[name];
  const work = retention === 'workqueue';
  return {
    name,
    subjects,
    retention: work ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
    storage: StorageType.File,
    // A full work queue refuses; a full history forgets its oldest.
    discard: work ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(maxAgeMs),
    max_bytes: maxBytes,
    max_msg_size: maxMsgSize,
    duplicate_window: nanos(duplicateWindowMs),
    allow_direct: true,
    ...(maxMsgsPerSubject === undefined ? {} : { max_msgs_per_subject: maxMsgsPerSubject, discard_new_per_subject: true }),
  };
}

async function ensureOne(connection: Connection, name: StreamName): Promise<void> {
  const config = configOf(name);
  try {
    await connection.jsm.streams.add(config);
  } catch (error) {
    // 10058: it exists with other settings.
    if (!(error instanceof JetStreamApiError && error.code === 10058)) throw error;
    await connection.jsm.streams.update(name, config);
    connection.log.info({ stream: name }, 'stream settings updated');
  }
}

const ensured = new WeakSet<Connection>();

/**
 * Makes every stream of the catalogue, or brings its settings up to date. From then on it does so again after every
 * reconnect: the server may have come back with an empty store.
 */
export async function ensureStreams(bus: Bus): Promise<void> {
  const connection = connectionOf(bus);
  const all = async (): Promise<void> => {
    for (const name of Object.keys(streams) as StreamName[]) await ensureOne(connection, name);
  };
  await all();
  if (ensured.has(connection)) return;
  ensured.add(connection);
  const again = async (attempt: number): Promise<void> => {
    try {
      await all();
    } catch (error) {
      if (connection.over || !connection.connected) return;
      connection.log.warn({ error: messageOf(error), attempt }, 'streams could not be ensured; trying again');
      setTimeout(() => void again(attempt + 1), Math.min(200 * attempt, 5_000)).unref();
    }
  };
  connection.onReconnect(() => void again(1));
}

/** The durable of one runner on WORK. */
export const runnerDurable = (runner: string): string => `runner-${encodeToken(runner)}`;

/** How a runner's work is delivered; `consume` of the runner and `ensureRunnerConsumer` of the scheduler must agree. */
export function runnerConsumeOptions(runner: string): ConsumeOptions {
  return { durable: runnerDurable(runner), params: { runner }, ackWaitMs: 30_000, maxDeliver: 5, maxAckPending: 64, create: false };
}

/** Makes a runner's durable on WORK; runners may not make their own. Idempotent. */
export async function ensureRunnerConsumer(bus: Bus, runner: string): Promise<void> {
  const connection = connectionOf(bus);
  await ensureConsumer(connection, 'WORK', consumerConfig(filterOf(messages.work, { runner }), runnerConsumeOptions(runner)));
}

/** Removes a runner's durable and the work that still waits for it. Idempotent. */
export async function removeRunnerConsumer(bus: Bus, runner: string): Promise<void> {
  const { jsm } = connectionOf(bus);
  const gone = (error: unknown): void => {
    // 10014 no such consumer, 10059 no such stream.
    if (!(error instanceof JetStreamApiError && (error.code === 10014 || error.code === 10059))) throw error;
  };
  await jsm.consumers.delete('WORK', runnerDurable(runner)).catch(gone);
  await jsm.streams.purge('WORK', { filter: filterOf(messages.work, { runner }) }).catch(gone);
}

