import type { RoundResult } from '@roundsman/api';
import { ensureStreams, messages, subjectOf, type Bus, type Delivery, type StreamMessage, type Subscription } from '@roundsman/bus';
import { Ingest, isDataError, resultProblem, type PartOutcome, type ReportPool } from '@roundsman/reports';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ReporterMetrics } from './metrics.ts';
import type { Settings } from './settings.ts';

/** The result message with a check that costs little: see `resultProblem`. */
const resultMessage: StreamMessage<RoundResult> = {
  ...messages.result,
  schema: z.unknown().transform((value, context) => {
    const problem = resultProblem(value);
    if (problem === undefined) return value as RoundResult;
    context.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  }) as unknown as z.ZodType<RoundResult>,
};

/** After a crash of another instance, what it held comes again within this time. */
export const ackWaitMs = 8_000;
/** Only bad messages are given up, and those at once: a long outage must never be taken for one. */
const maxDeliver = 1_000_000;
const retryMs = [200, 500, 1_000, 2_000];
/** A round cannot have started later than this, by our clock. */
const futureMs = 2 * 86_400_000;

/** Batches written at the same time: while some wait for Postgres, the next is encoded. Measured: 3 keep both busy. */
const laneCount = 3;

type Result = Delivery<RoundResult>;
interface Lane {
  readonly ingest: Ingest;
  /** The batch it is writing; resolves with the lane when it is free again. */
  work: Promise<Lane> | undefined;
}

/** Results from the stream into Postgres: committed first, acknowledged then. Every instance does it. */
export class Ingester {
  readonly #stop = new AbortController();
  readonly #lanes: Lane[];
  #subscription: Subscription | undefined;
  #problem: string | undefined = 'not started';

  constructor(
    private readonly options: {
      bus: Bus;
      pool: ReportPool;
      settings: Settings;
      metrics: ReporterMetrics;
      log: Logger;
      /** Some runners' results became whole. */
      onCompleted: () => void;
      /** Postgres did not take a batch; called for every try. */
      onOutage: () => void;
    },
  ) {
    const { pool, settings } = options;
    this.#lanes = Array.from({ length: laneCount }, () => ({ ingest: new Ingest(pool, { retentionMs: settings.retentionDays * 86_400_000 }), work: undefined }));
  }

  async start(): Promise<void> {
    const { bus, settings } = this.options;
    await ensureStreams(bus);
    this.#subscription = await bus.consume(
      resultMessage,
      { durable: 'reporter', ackWaitMs, maxDeliver, maxAckPending: settings.batch * (laneCount + 3), batch: settings.batch, batchMs: settings.batchMs, create: true },
      (batch) => this.#handle(batch),
    );
    this.#problem = undefined;
  }

  /** What is in hand is committed and acknowledged, unless Postgres is away. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#subscription?.stop();
    await Promise.all(this.#lanes.map(({ work }) => work));
  }

  /** For readiness. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** Returns when everything is on a lane, so that the next batch is read while this one is written. */
  async #handle(batch: readonly Result[]): Promise<void> {
    const good: Result[] = [];
    for (const delivery of batch) {
      const wrong = mismatch(delivery);
      if (wrong === undefined) good.push(delivery);
      else await this.#reject(delivery, wrong.reason, wrong.message);
    }
    for (const group of this.#groups(good)) {
      const lane = this.#lanes.find(({ work }) => work === undefined) ?? (await Promise.race(this.#lanes.map(({ work }) => work as Promise<Lane>)));
      lane.work = this.#write(lane, group);
    }
  }

  async #write(lane: Lane, group: readonly Result[]): Promise<Lane> {
    const keepAlive = setInterval(() => group.forEach((delivery) => delivery.working()), ackWaitMs / 3);
    try {
      await this.#store(lane.ingest, group);
    } catch (error) {
      // Only when stopping, or when a dead letter could not be written: what is not acknowledged comes again.
      this.options.log.warn({ err: error, messages: group.length }, 'results left to come again');
    } finally {
      clearInterval(keepAlive);
      lane.work = undefined;
    }
    return lane;
  }

  *#groups(batch: readonly Result[]): Generator<Result[]> {
    let group: Result[] = [];
    let rows = 0;
    for (const delivery of batch) {
      const more = delivery.payload.targets.length;
      if (group.length > 0 && rows + more > this.options.settings.batchRows) {
        yield group;
        group = [];
        rows = 0;
      }
      group.push(delivery);
      rows += more;
    }
    if (group.length > 0) yield group;
  }

  /** Tries until it is committed: an outage of Postgres only costs time. What Postgres itself refuses is singled out. */
  async #store(ingest: Ingest, group: readonly Result[]): Promise<void> {
    const { metrics, log } = this.options;
    for (let failures = 0; ; ) {
      const began = performance.now();
      try {
        const { outcomes, rows, completed } = await ingest.store(group.map(({ payload }) => payload));
        metrics.batches.inc({ ok: 'true' });
        metrics.commit.observe((performance.now() - began) / 1000);
        metrics.rows.inc(rows);
        this.#problem = undefined;
        if (completed.length > 0) this.options.onCompleted();
        await this.#settle(ingest, group, outcomes);
        return;
      } catch (error) {
        metrics.batches.inc({ ok: 'false' });
        if (isDataError(error)) {
          const [first] = group;
          if (group.length === 1 && first !== undefined) return this.#reject(first, 'refused', (error as Error).message);
          const middle = group.length >> 1;
          await this.#store(ingest, group.slice(0, middle));
          return this.#store(ingest, group.slice(middle));
        }
        this.#problem = `cannot write results: ${error instanceof Error ? error.message : String(error)}`;
        this.options.onOutage();
        // Not acknowledged: they come again, to us or to another.
        if (this.#stop.signal.aborted) throw error;
        const delayMs = retryMs[Math.min(failures, retryMs.length - 1)] as number;
        failures += 1;
        log.warn({ err: error, failures, delayMs, messages: group.length }, 'results not committed; trying again');
        await pause(delayMs, this.#stop.signal);
      }
    }
  }

  async #settle(ingest: Ingest, group: readonly Result[], outcomes: readonly PartOutcome[]): Promise<void> {
    const { metrics, log } = this.options;
    const late: RoundResult[] = [];
    const counts = new Map<PartOutcome, number>();
    outcomes.forEach((outcome, i) => {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      const { payload } = group[i] as Result;
      if (outcome === 'late') late.push(payload);
      if (outcome === 'stored' && payload.outcome !== undefined) metrics.lag.observe(Math.max(0, Date.now() - Date.parse(payload.outcome.endedAt)) / 1000);
    });
    for (const [outcome, n] of counts) metrics.results.inc({ outcome }, n);
    if (late.length > 0) {
      log.info({ messages: late.length, round: `${late[0]?.namespace}/${late[0]?.task}/${late[0]?.round}`, runner: late[0]?.runner }, 'results came after the close of their round and were dropped');
      await ingest.countLate(late).catch((error: unknown) => log.warn({ err: error }, 'late results not counted in their report'));
    }
    const acks = await Promise.allSettled(group.map((delivery) => delivery.ack()));
    const lost = acks.filter(({ status }) => status === 'rejected');
    if (lost.length > 0) log.warn({ messages: lost.length, err: (lost[0] as PromiseRejectedResult).reason as unknown }, 'committed results not acknowledged; they come again and change nothing');
  }

  async #reject(delivery: Result, reason: string, message: string): Promise<void> {
    const { metrics, log } = this.options;
    metrics.results.inc({ outcome: 'rejected' });
    log.warn({ subject: delivery.subject, reason, why: message }, 'result goes to the dead letters');
    await delivery.reject(reason, message);
  }
}

/** A runner may only speak for itself: what it says must be what its subject, on which its rights are written, says. */
function mismatch({ subject, payload }: Result): { reason: string; message: string } | undefined {
  const { runner, kind, taskUid, round, roundStart } = payload;
  if (subjectOf(messages.result, { runner, kind, taskUid, round }) !== subject) {
    return { reason: 'identity', message: `the result is of runner ${runner}, ${kind} ${taskUid}, round ${round}, which its subject is not` };
  }
  if (Date.parse(roundStart) > Date.now() + futureMs) return { reason: 'future', message: `the round starts at ${roundStart}, days from now` };
  return undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
