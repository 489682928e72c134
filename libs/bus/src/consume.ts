import { AckPolicy, DeliverPolicy, JetStreamApiError } from '@nats-io/jetstream';
import type { ConsumerConfig, ConsumerInfo, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { StreamMessage } from './catalogue.ts';
import { Unreachable } from './bus.ts';
import type { ConsumeOptions, Delivery, Subscription } from './bus.ts';
import type { Connection } from './connection.ts';
import { decodeJson, InvalidPayload } from './codec.ts';
import { moveToDeadLetters } from './deadletters.ts';
import { filterOf, InvalidToken, paramsOf } from './subject.ts';
import { messageOf } from './log.ts';

/**
 * The server's own limit lies above ours: normally `consume` sees the delivery after the last allowed one and moves
 * the message to the dead letters. The server's is the backstop for a consumer that cannot even do that; such messages
 * stay in the stream and `sweepDeadLetters` finds them.
 */
const spareDeliveries = 8;
/** Fetched and not yet handed over, beyond which nothing more is fetched. */
const queueBytes = 16 << 20;
const retryDelaysMs = [500, 1_000, 2_000, 5_000, 10_000];

export function consumerConfig(filter: string, options: Pick<ConsumeOptions, 'durable' | 'ackWaitMs' | 'maxDeliver' | 'maxAckPending'>): Partial<ConsumerConfig> {
  return {
    durable_name: options.durable,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(options.ackWaitMs),
    max_deliver: options.maxDeliver + spareDeliveries,
    max_ack_pending: options.maxAckPending,
    filter_subject: filter,
  };
}

/** Makes the durable, or brings its settings up to date. */
export async function ensureConsumer(connection: Connection, stream: string, config: Partial<ConsumerConfig>): Promise<ConsumerInfo> {
  try {
    return await connection.jsm.consumers.add(stream, config);
  } catch (error) {
    // 10148: it exists with other settings.
    if (!(error instanceof JetStreamApiError && error.code === 10148)) throw error;
    return connection.jsm.consumers.update(stream, config.durable_name ?? '', config);
  }
}

export async function consume<T>(
  connection: Connection,
  message: StreamMessage<T>,
  options: ConsumeOptions,
  handle: (batch: readonly Delivery<T>[]) => Promise<void>,
): Promise<Subscription> {
  const loop = new ConsumeLoop(connection, message, options, handle);
  await loop.start();
  return { stop: () => loop.stop() };
}

class ConsumeLoop<T> {
  readonly #batch: number;
  readonly #batchMs: number;
  readonly #filter: string;
  readonly #queue: { msg: JsMsg; staleAt: number }[] = [];
  #queuedBytes = 0;
  readonly #waiters = new Set<() => void>();
  #messages: ConsumerMessages | undefined;
  #stopped = false;
  #done: Promise<unknown> = Promise.resolve();
  #offClose: () => void = () => {};

  constructor(
    readonly connection: Connection,
    readonly message: StreamMessage<T>,
    readonly options: ConsumeOptions,
    readonly handle: (batch: readonly Delivery<T>[]) => Promise<void>,
  ) {
    this.#batch = options.batch ?? 1;
    this.#batchMs = options.batchMs ?? 0;
    this.#filter = filterOf(message, options.params);
  }

  async start(): Promise<void> {
    if (this.options.create) await ensureConsumer(this.connection, this.message.stream, this.#config());
    this.#offClose = this.connection.onClose(() => this.stop());
    this.#done = Promise.all([this.#pull(), this.#work()]);
  }

  async stop(): Promise<void> {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#offClose();
      this.#messages?.stop();
      // What was fetched and not begun goes back at once rather than after the ack wait.
      if (this.connection.connected) for (const { msg } of this.#queue.splice(0)) msg.nak();
      this.#wake();
    }
    await this.#done;
  }

  #config(): Partial<ConsumerConfig> {
    return consumerConfig(this.#filter, this.options);
  }

  /** Keeps one pull open; makes the durable anew when it is gone (the store was wiped, somebody deleted it). */
  async #pull(): Promise<void> {
    const { connection, message, options } = this;
    const { log, identity } = connection;
    let failures = 0;
    while (!this.#stopped && !connection.over) {
      try {
        await connection.whenConnected(60_000);
        const info = options.create
          ? await ensureConsumer(connection, message.stream, this.#config())
          : await connection.jsm.consumers.info(message.stream, options.durable);
        if (this.#stopped) return;
        if (failures > 0) log.info({ identity, stream: message.stream, durable: options.durable, failures }, 'consumer is set up again');
        failures = 0;
        const most = Math.min(this.#batch * 2, options.maxAckPending);
        this.#messages = await connection.js.consumers.getConsumerFromInfo(info).consume({
          max_messages: most,
          threshold_messages: Math.max(1, Math.floor(most / 2)),
          expires: 10_000,
          idle_heartbeat: 2_000,
          abort_on_missing_resource: true,
        });
        await this.#take(this.#messages);
      } catch (error) {
        if (this.#stopped || connection.over) return;
        failures += 1;
        if (failures === 1 || failures % 30 === 0) {
          log.warn({ identity, stream: message.stream, durable: options.durable, error: messageOf(error), failures }, 'consumer interrupted; it is set up again');
        }
        await this.#pause(Math.min(100 * failures, 2_000));
      }
    }
  }

  /** Iterating slowly is what holds back further pulls: memory stays within two batches and `queueBytes`. */
  async #take(messages: ConsumerMessages): Promise<void> {
    for await (const msg of messages) {
      this.#queue.push({ msg, staleAt: Date.now() + this.options.ackWaitMs });
      this.#queuedBytes += msg.data.length;
      this.#wake();
      while (!this.#stopped && this.#queue.length > 0 && (this.#queue.length >= this.#batch * 2 || this.#queuedBytes > queueBytes)) await this.#pause(1_000);
    }
  }

  async #work(): Promise<void> {
    while (!this.#stopped && !this.connection.over) {
      if (this.#queue.length === 0) {
        await this.#pause(60_000);
        continue;
      }
      const until = Date.now() + this.#batchMs;
      while (!this.#stopped && this.#queue.length < this.#batch && this.#queuedBytes < queueBytes && Date.now() < until) await this.#pause(until - Date.now());
      if (this.#stopped) return;
      const taken = this.#queue.splice(0, this.#batch);
      for (const { msg } of taken) this.#queuedBytes -= msg.data.length;
      this.#wake();
      // One whose ack wait has run out is on its way again, perhaps to somebody else.
      const now = Date.now();
      await this.#deliver(taken.filter(({ staleAt }) => staleAt > now).map(({ msg }) => msg));
    }
  }

  async #deliver(messages: readonly JsMsg[]): Promise<void> {
    const { connection } = this;
    const batch: { delivery: Delivery<T>; settled: () => boolean }[] = [];
    for (const msg of messages) {
      const made = await this.#prepare(msg);
      if (made !== undefined) batch.push(made);
    }
    if (batch.length === 0) return;
    try {
      await this.handle(batch.map(({ delivery }) => delivery));
    } catch (error) {
      connection.log.error({ identity: connection.identity, durable: this.options.durable, error: messageOf(error), messages: batch.length }, 'handler failed');
      for (const { delivery, settled } of batch) {
        if (settled()) continue;
        if (delivery.deliveries >= this.options.maxDeliver) await delivery.reject('handler', messageOf(error)).catch(() => this.#undelivered(delivery));
        else delivery.retry(retryDelaysMs[Math.min(delivery.deliveries, retryDelaysMs.length) - 1] ?? 500);
      }
    }
  }

  #undelivered(delivery: Delivery<T>): void {
    this.connection.log.error({ subject: delivery.subject }, 'dead letter not written; the message comes again');
  }

  /** The delivery, or undefined when it went to the dead letters instead. */
  async #prepare(msg: JsMsg): Promise<{ delivery: Delivery<T>; settled: () => boolean } | undefined> {
    const { connection, message, options } = this;
    let settled = false;
    const reject = async (reason: string, why: string): Promise<void> => {
      settled = true;
      await moveToDeadLetters(connection, {
        stream: message.stream,
        consumer: options.durable,
        reason,
        message: why,
        subject: msg.subject,
        seq: msg.seq,
        deliveries: msg.info.deliveryCount,
        data: msg.data,
      });
      msg.term(reason);
    };
    try {
      if (msg.info.deliveryCount > options.maxDeliver) {
        await reject('max-deliver', `not settled in ${options.maxDeliver} deliveries`);
        return undefined;
      }
      const params = paramsOf(message, msg.subject);
      const payload = decodeJson(message.schema, msg.data, msg.subject);
      const delivery: Delivery<T> = {
        subject: msg.subject,
        params,
        payload,
        deliveries: msg.info.deliveryCount,
        bytes: msg.data.length,
        ack: async () => {
          settled = true;
          await connection.guarded(msg.subject, () => msg.ackAck({ timeout: 5_000 })).catch((error: unknown) => {
            throw new Unreachable(`${msg.subject} not acknowledged: ${messageOf(error)}`, { cause: error });
          });
        },
        retry: (delayMs) => {
          settled = true;
          msg.nak(delayMs);
        },
        working: () => msg.working(),
        reject,
      };
      return { delivery, settled: () => settled };
    } catch (error) {
      const invalid = error instanceof InvalidPayload || error instanceof InvalidToken;
      if (!invalid) {
        connection.log.error({ subject: msg.subject, error: messageOf(error) }, 'dead letter not written; the message comes again');
        return undefined;
      }
      await reject('invalid', error.message).catch((why: unknown) => {
        connection.log.error({ subject: msg.subject, error: messageOf(why) }, 'dead letter not written; the message comes again');
      });
      return undefined;
    }
  }

  #wake(): void {
    for (const waiter of this.#waiters) waiter();
  }

  /** At most this long; any change of the queue, and `stop`, end it. */
  async #pause(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const waiter = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        resolve();
      };
      const timer = setTimeout(waiter, ms);
      this.#waiters.add(waiter);
    });
  }
}
