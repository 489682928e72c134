import type { ProbeErrorCode } from '@roundsman/api';
import type { Timed } from '../deadlines.ts';

/** One DNS query on its way. */
export interface Query extends Timed {
  intended: number;
  sentAt: number;
  id: number;
  /** Its own copy of the message behind two bytes of length, so that it may lie in a send queue while others are made. */
  framed: Buffer;
  /** The same memory without the length. */
  message: Buffer;
  /** It was lost with a connection once and is being sent again. */
  retried: boolean;
  carrier: QueryCarrier | undefined;
}

export interface QueryCarrier {
  /** Forgets a query that expired or was canceled. True while the connection was not yet made. */
  forget(query: Query): boolean;
}

/** How sockets tell the prober about queries. */
export interface QueryOutcomes {
  /** Finds the query a reply belongs to. */
  find(id: number): Query | undefined;
  reply(query: Query, reply: Buffer, now: number, overStream: boolean): void;
  failure(query: Query, now: number, code: ProbeErrorCode, message: string): void;
  /** The connection went away before the reply. */
  lost(query: Query, now: number, code: ProbeErrorCode, message: string): void;
  /** Nothing of these was sent: another connection must carry them. */
  move(queries: Query[]): void;
}

/** How long after its end an unanswered query's id is not used again, milliseconds: a late reply must find nobody. */
const quarantineMs = 5000;

/**
 * Message ids in order from a random start. An id is never used for two queries under way, and not for a while after its
 * query ended without a reply.
 */
export class QueryIds {
  readonly #used = new Map<number, Query>();
  readonly #retired: { id: number; until: number }[] = [];
  readonly #closed = new Set<number>();
  #next = Math.floor(Math.random() * 65_536);

  /** False when all ids are taken. */
  get room(): boolean {
    return this.#used.size + this.#closed.size < 65_536;
  }

  find(id: number): Query | undefined {
    return this.#used.get(id);
  }

  take(query: Query, now: number): void {
    while (this.#retired.length > 0 && this.#retired[0]!.until <= now) this.#closed.delete(this.#retired.shift()!.id);
    while (this.#used.has(this.#next) || this.#closed.has(this.#next)) this.#next = (this.#next + 1) & 0xffff;
    query.id = this.#next;
    this.#next = (this.#next + 1) & 0xffff;
    query.message.writeUInt16BE(query.id, 0);
    this.#used.set(query.id, query);
  }

  release(query: Query, answered: boolean, now: number): void {
    this.#used.delete(query.id);
    if (answered) return;
    this.#closed.add(query.id);
    this.#retired.push({ id: query.id, until: now + quarantineMs });
  }
}
