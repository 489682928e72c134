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
  /** Given to UDP sends, which tell errors to nobody else; made once per object. */
  onSent: (error: Error | null) => void;
}

export interface QueryCarrier {
  /** Forgets a query that expired or was canceled. True while the connection was not yet made. */
  forget(query: Query): boolean;
  /** The system did not take the query's datagram. */
  unsendable(query: Query, error: NodeJS.ErrnoException): void;
}

/** How sockets tell the prober about queries. */
export interface QueryOutcomes {
  /** Finds the query under way that a reply belongs to. */
  find(id: number): Query | undefined;
  carriedBy(carrier: QueryCarrier): Query[];
  reply(query: Query, reply: Buffer, now: number, overStream: boolean): void;
  failure(query: Query, now: number, code: ProbeErrorCode, message: string): void;
  /** The connection went away before the reply. */
  lost(query: Query, now: number, code: ProbeErrorCode, message: string): void;
  /** The server closes connections after few replies (RFC 7766, 6.2.4 allows it): each query needs one of its own. */
  closesEarly(): void;
  /** Nothing of these was sent: another connection must carry them. */
  move(queries: Query[]): void;
}

/** How long after its end an unanswered query's id is not used again, milliseconds: a late reply must find nobody. */
const quarantineMs = 5000;
/** Places for queries under way; a power of two, at least twice what may be under way. */
const places = 8192;
/** The most queries that may be under way. */
export const maxUnderway = places / 2;

/**
 * Message ids in order from a random start. An id is never used for two queries under way, and not for a while after its
 * query ended without a reply. A query lies at the place of its id's low bits, so finding it is one look.
 */
export class QueryIds {
  readonly #places: (Query | undefined)[] = Array.from({ length: places }, () => undefined);
  readonly #retired: { id: number; until: number }[] = [];
  #retiredFrom = 0;
  readonly #closed = new Set<number>();
  #next = Math.floor(Math.random() * 65_536);

  /** False while so many ids wait out their quarantine that none can be given. */
  get room(): boolean {
    return this.#closed.size < 65_536 - places || this.#reopen(performance.now());
  }

  find(id: number): Query | undefined {
    const query = this.#places[id & (places - 1)];
    return query !== undefined && query.id === id ? query : undefined;
  }

  take(query: Query, now: number): void {
    if (this.#closed.size > 0) this.#reopen(now);
    let id = this.#next;
    while (this.#places[id & (places - 1)] !== undefined || (this.#closed.size > 0 && this.#closed.has(id))) id = (id + 1) & 0xffff;
    this.#next = (id + 1) & 0xffff;
    query.id = id;
    query.message[0] = id >> 8;
    query.message[1] = id & 0xff;
    this.#places[id & (places - 1)] = query;
  }

  release(query: Query, answered: boolean, now: number): void {
    this.#places[query.id & (places - 1)] = undefined;
    if (answered) return;
    this.#closed.add(query.id);
    this.#retired.push({ id: query.id, until: now + quarantineMs });
  }

  /** Queries under way that `carrier` carries. */
  carriedBy(carrier: QueryCarrier): Query[] {
    return this.#places.filter((query): query is Query => query?.carrier === carrier);
  }

  #reopen(now: number): boolean {
    while (this.#retiredFrom < this.#retired.length && this.#retired[this.#retiredFrom]!.until <= now) this.#closed.delete(this.#retired[this.#retiredFrom++]!.id);
    if (this.#retiredFrom > 1024) {
      this.#retired.splice(0, this.#retiredFrom);
      this.#retiredFrom = 0;
    }
    return this.#closed.size < 65_536 - places;
  }
}
