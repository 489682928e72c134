import type { Round, RoundStatus } from '@roundsman/api';
import { InvalidPayload, InvalidToken, messages, ServiceError, serviceUser, streams, Unreachable, type Bus } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import { markTold, untoldRounds, type ReportPool, type UntoldRound } from '@roundsman/reports';
import type { Logger } from 'pino';
import { Lookout, type Next } from './lookout.ts';
import type { ReporterMetrics } from './metrics.ts';

const page = 50;
const idleMs = 5_000;
/** What a message may weigh, with room for its headers. */
const messageBytes = streams.REPORT.maxMsgSize - 4_096;
/** What intake says of a status that it will never take. */
const final = new Set([400, 413, 422]);

/** One that could not be told, and when it is tried again. */
interface Failed {
  failures: number;
  notBefore: number;
}
const keyOf = ({ taskUid, round }: UntoldRound): string => `${taskUid}/${round}`;

/**
 * Tells of closed rounds: status of the Round object, and the report message. Each is repeated until it is done, also by the
 * next process; one that fails waits by itself and holds up no other, and what can never be taken is given up, logged and counted.
 */
export class Teller {
  readonly #failed = new Map<string, Failed & { taskUid: string; round: number }>();
  readonly #lookout = new Lookout(() => this.#look());
  #failures = 0;

  constructor(private readonly options: { pool: ReportPool; bus: Bus; rounds: Informer<Round>; metrics: Pick<ReporterMetrics, 'untellable'>; log: Logger }) {}

  get untold(): number {
    return this.#failed.size;
  }

  /** Something was closed. */
  kick(): void {
    this.#lookout.kick();
  }

  stop(): Promise<void> {
    return this.#lookout.stop();
  }

  async #look(): Promise<Next> {
    try {
      const now = Date.now();
      const waiting = [...this.#failed.values()].filter(({ notBefore }) => notBefore > now);
      const rounds = await untoldRounds(this.options.pool, page, waiting);
      // Whatever else was waiting is done: by another leader, or by retention.
      if (rounds.length < page) for (const [key, { notBefore }] of this.#failed) if (notBefore <= now && !rounds.some((round) => keyOf(round) === key)) this.#failed.delete(key);
      const done = await Promise.all(rounds.map((round) => this.#tell(round)));
      // All of them: it is not the rounds.
      this.#failures = rounds.length > 0 && !done.includes(true) ? this.#failures + 1 : 0;
      if (this.#failures === 0) return { afterMs: rounds.length === page ? 0 : Math.max(0, Math.min(idleMs, ...[...this.#failed.values()].map(({ notBefore }) => notBefore - Date.now()))) };
    } catch (error) {
      this.#failures += 1;
      this.options.log.warn({ err: error }, 'cannot read what is to be told; trying again');
    }
    return { afterMs: Math.min(5_000, 200 * 2 ** Math.min(this.#failures, 6)), failing: true };
  }

  async #tell(round: UntoldRound): Promise<boolean> {
    const told = await Promise.allSettled([round.statusWritten ? undefined : this.#once(round, 'status', () => this.#writeAnyStatus(round)), round.announced ? undefined : this.#once(round, 'report', () => this.#announce(round))]);
    const errors = told.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    const key = keyOf(round);
    if (errors.length === 0) {
      this.#failed.delete(key);
      return true;
    }
    const failures = (this.#failed.get(key)?.failures ?? 0) + 1;
    // Nobody there: they may be back any moment. Anything else is about this round.
    const mostMs = errors.every((error) => error instanceof Unreachable) ? 5_000 : 300_000;
    this.#failed.set(key, { taskUid: round.taskUid, round: round.round, failures, notBefore: Date.now() + Math.min(mostMs, 200 * 2 ** Math.min(failures, 12)) });
    for (const err of errors) this.options.log.warn({ err, round: `${round.namespace}/${round.name}`, failures }, 'closed round not told; trying again');
    return false;
  }

  async #once({ taskUid, round, namespace, name }: UntoldRound, what: 'status' | 'report', tell: () => Promise<void>): Promise<void> {
    const { pool, metrics, log } = this.options;
    try {
      await tell();
    } catch (error) {
      if (!isFinal(error)) throw error;
      metrics.untellable.inc({ what });
      log.error({ err: error, round: `${namespace}/${name}`, what }, 'closed round can never be told as it is; given up, its report stays');
    }
    await markTold(pool, taskUid, round, what);
  }

  /** Whole or, where intake does not take that, as short as can be: whoever waits for the end of the round must learn of it. */
  async #writeAnyStatus(round: UntoldRound): Promise<void> {
    const { state, closedAt, verdict, nodes: { succeeded, failed, missing } } = round;
    const brief: RoundStatus = { state, closedAt: closedAt.toISOString(), verdict: verdict.state };
    try {
      await this.#writeStatus(round, { ...brief, summary: `${verdict.summary}${moreMissing(round)}`, succeeded, failed, missing });
    } catch (error) {
      if (!isFinal(error)) throw error;
      this.options.log.warn({ err: error, round: `${round.namespace}/${round.name}` }, 'whole status of a closed round not taken; it is told briefly');
      await this.#writeStatus(round, brief);
    }
  }

  async #writeStatus(round: UntoldRound, status: RoundStatus): Promise<void> {
    // Results of a round without a Round object: nobody to tell.
    if (!round.registered) return;
    const { bus, rounds, log } = this.options;
    const { namespace, name } = round;
    const known = rounds.get(namespace, name);
    try {
      const { object } = await bus.request(messages.write, {}, {
        operation: 'updateStatus',
        resource: rounds.resource,
        namespace,
        name,
        object: { apiVersion: 'roundsman.io/v1', kind: 'Round', metadata: { name, namespace, ...(known === undefined ? {} : { uid: known.metadata.uid }) }, spec: known?.spec ?? {}, status },
        user: serviceUser('reporter'),
      });
      rounds.observe(object as unknown as Round);
    } catch (error) {
      // Deleted meanwhile, perhaps made anew: it is not this round's object any more.
      if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409))) throw error;
      log.info({ round: `${namespace}/${name}`, why: error.message }, 'closed round has no object to write the status of');
    }
  }

  async #announce(round: UntoldRound): Promise<void> {
    const { kind, namespace, task, taskUid, totals, nodes } = round;
    const verdict = { ...round.verdict, summary: `${round.verdict.summary}${moreMissing(round)}` };
    const whole = { kind, namespace, task, taskUid, round: round.round, roundStart: round.start.toISOString(), closedAt: round.closedAt.toISOString(), state: round.state, verdict, totals, nodes };
    // All findings with their evidence are in the report.
    const message = bytesOf(whole) <= messageBytes ? whole : { ...whole, verdict: { ...verdict, findings: verdict.findings.slice(0, 20).map((finding) => ({ ...finding, evidence: [] })) } };
    const bytes = bytesOf(message);
    if (bytes > messageBytes) throw new TooLarge(`the report message would be ${bytes} bytes, ${messageBytes} at most are taken`);
    await this.options.bus.append(messages.report, { kind, namespace, task }, message, { msgId: `report:${taskUid}:${round.round}` });
  }
}

const bytesOf = (message: object): number => Buffer.byteLength(JSON.stringify(message));

class TooLarge extends Error {}

/** Trying again cannot help. */
function isFinal(error: unknown): boolean {
  return error instanceof TooLarge || error instanceof InvalidToken || error instanceof InvalidPayload || (error instanceof ServiceError && final.has(error.code));
}

function moreMissing({ unnamedMissing }: UntoldRound): string {
  return unnamedMissing === 0 ? '' : ` ${unnamedMissing} more missing runners are named in the report only.`;
}
