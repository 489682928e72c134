import { JetStreamApiError } from '@nats-io/jetstream';
import type { Bus, Params } from './bus.ts';
import { messages } from './catalogue.ts';
import type { StreamName } from './catalogue.ts';
import { connectionOf } from './nats-bus.ts';
import { decodeToken, filterOf, paramsOf } from './subject.ts';

/** 10014 no such consumer, 10059 no such stream: there is nothing. */
const absent = (error: unknown): boolean => error instanceof JetStreamApiError && (error.code === 10014 || error.code === 10059);

/** Removes work that nobody needs any more; params left out match everything. */
export async function purgeWork(bus: Bus, params: Params): Promise<void> {
  await connectionOf(bus)
    .jsm.streams.purge('WORK', { filter: filterOf(messages.work, params) })
    .catch((error: unknown) => {
      if (!absent(error)) throw error;
    });
}

/** Parameters of every work message that is still in the stream (not yet acknowledged). */
export async function pendingWork(bus: Bus): Promise<Record<string, string>[]> {
  try {
    const { state } = await connectionOf(bus).jsm.streams.info('WORK', { subjects_filter: filterOf(messages.work) });
    return Object.keys(state.subjects ?? {}).map((subject) => paramsOf(messages.work, subject));
  } catch (error) {
    if (absent(error)) return [];
    throw error;
  }
}

/** Runners that have a durable on WORK. */
export async function runnersWithConsumer(bus: Bus): Promise<string[]> {
  const { jsm } = connectionOf(bus);
  const prefix = 'runner-';
  const runners: string[] = [];
  try {
    for await (const { name } of jsm.consumers.list('WORK')) if (name.startsWith(prefix)) runners.push(decodeToken(name.slice(prefix.length)));
  } catch (error) {
    if (!absent(error)) throw error;
  }
  return runners;
}

/** Runs after every reconnect, until the returned function is called: the server may have come back with an empty store. */
export const onReconnect = (bus: Bus, run: () => void): (() => void) => connectionOf(bus).onReconnect(run);

/**
 * First and last sequence a stream holds; of an empty one, and of none, `first` is above `last`. A work queue holds what is not
 * settled yet: once `first` is above what `last` was, all that was in it then is settled.
 */
export async function streamRange(bus: Bus, stream: StreamName): Promise<{ first: number; last: number }> {
  try {
    const { state } = await connectionOf(bus).jsm.streams.info(stream);
    return state.messages === 0 ? { first: state.last_seq + 1, last: state.last_seq } : { first: state.first_seq, last: state.last_seq };
  } catch (error) {
    if (absent(error)) return { first: 1, last: 0 };
    throw error;
  }
}
