import type { Round, RoundStatus } from '@roundsman/api';
import { messages, ServiceError, type Bus } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import { markTold, untoldRounds, type ReportPool, type UntoldRound } from '@roundsman/reports';
import type { Logger } from 'pino';

const page = 50;
const idleMs = 5_000;
const states = { succeed: 'succeeded', fail: 'failed', canceled: 'canceled', missed: 'failed' } as const;

/** Tells of closed rounds: status of the Round object, and the report message. Each is repeated until it is done, also by the next process. */
export class Teller {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #failures = 0;
  #untold = 0;

  constructor(private readonly options: { pool: ReportPool; bus: Bus; rounds: Informer<Round>; log: Logger }) {}

  get untold(): number {
    return this.#untold;
  }

  start(): void {
    this.kick();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  kick(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#look().then((nextMs) => {
      this.#running = undefined;
      if (this.#again && this.#failures === 0) {
        this.#again = false;
        this.kick();
      } else if (!this.#stopped) {
        this.#again = false;
        this.#timer = setTimeout(() => this.kick(), nextMs);
      }
    });
  }

  async #look(): Promise<number> {
    try {
      const rounds = await untoldRounds(this.options.pool, page);
      this.#untold = rounds.length;
      const done = await Promise.all(rounds.map((round) => this.#tell(round)));
      this.#untold = done.filter((ok) => !ok).length;
      this.#failures = this.#untold === 0 ? 0 : this.#failures + 1;
      if (this.#failures === 0) return rounds.length === page ? 0 : idleMs;
    } catch (error) {
      this.#failures += 1;
      this.options.log.warn({ err: error }, 'cannot read what is to be told; trying again');
    }
    return Math.min(5_000, 200 * 2 ** Math.min(this.#failures, 6));
  }

  async #tell(round: UntoldRound): Promise<boolean> {
    const { pool, log } = this.options;
    const told = await Promise.allSettled([
      round.statusWritten ? undefined : this.#writeStatus(round).then(() => markTold(pool, round.taskUid, round.round, 'status')),
      round.announced ? undefined : this.#announce(round).then(() => markTold(pool, round.taskUid, round.round, 'report')),
    ]);
    for (const result of told) {
      if (result.status === 'rejected') log.warn({ err: result.reason as unknown, round: `${round.namespace}/${round.name}` }, 'closed round not told; trying again');
    }
    return told.every(({ status }) => status === 'fulfilled');
  }

  async #writeStatus(round: UntoldRound): Promise<void> {
    // Results of a round without a Round object: nobody to tell.
    if (!round.registered) return;
    const { bus, rounds, log } = this.options;
    const { namespace, name } = round;
    const known = rounds.get(namespace, name);
    const status: RoundStatus = {
      state: round.state,
      closedAt: round.closedAt.toISOString(),
      verdict: round.verdict.state,
      summary: round.verdict.summary,
      succeeded: round.nodes.succeeded,
      failed: round.nodes.failed,
      missing: round.nodes.missing,
    };
    try {
      const { object } = await bus.request(messages.write, {}, {
        operation: 'updateStatus',
        resource: rounds.resource,
        namespace,
        name,
        object: { apiVersion: 'roundsman.io/v1', kind: 'Round', metadata: { name, namespace, ...(known === undefined ? {} : { uid: known.metadata.uid }) }, spec: known?.spec ?? {}, status },
      });
      rounds.observe(object as unknown as Round);
    } catch (error) {
      // Deleted meanwhile, perhaps made anew: it is not this round's object any more.
      if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409))) throw error;
      log.info({ round: `${namespace}/${name}`, why: error.message }, 'closed round has no object to write the status of');
    }
  }

  async #announce(round: UntoldRound): Promise<void> {
    const { kind, namespace, task, taskUid, verdict, totals, nodes } = round;
    await this.options.bus.append(
      messages.report,
      { kind, namespace, task },
      { kind, namespace, task, taskUid, round: round.round, roundStart: round.start.toISOString(), closedAt: round.closedAt.toISOString(), state: states[round.state], verdict, totals, nodes },
      { msgId: `report:${taskUid}:${round.round}` },
    );
  }
}
