import { decode } from 'dns-packet';
import type { Forwarder, Kept } from './upstream/forwarder.ts';
import { relay, type Asked } from './upstream/message.ts';
import { classIn, flags, rcodes, types } from './wire/codes.ts';
import { textOfName, wireName } from './wire/names.ts';
import { readQuery, type Query } from './wire/query.ts';
import { recordOf, type ResourceRecord } from './wire/record.ts';
import { datagramFor, encodeRefusal, encodeReply, largestMessage, servfail, type Answer } from './wire/reply.ts';
import type { ClusterNames, Known } from './zone/cluster-names.ts';

/** Aliases of aliases that are followed. */
const mostAliases = 8;

/** Where an answer came from: the cluster's own names, upstream servers, or neither (a query that is refused, a cluster that is not known yet). */
export type Source = 'cluster' | 'upstream' | 'none';

export interface Reply {
  readonly message: Buffer;
  readonly source: Source;
}

/** Answers queries: names of the cluster from what is known of it, all others by asking upstream. */
export class Resolver {
  readonly #names: ClusterNames;
  readonly #forwarder: Forwarder;

  constructor(names: ClusterNames, forwarder: Forwarder) {
    this.#names = names;
    this.#forwarder = forwarder;
  }

  /** Undefined for what must not be answered. Never rejects. */
  reply(message: Buffer, channel: 'udp' | 'tcp'): Reply | Promise<Reply> | undefined {
    const query = readQuery(message);
    if (query === undefined) return undefined;
    if ('rcode' in query) return { message: encodeRefusal(query), source: 'none' };
    // Which names are the cluster's is not known yet: whoever asks shall ask again.
    if (this.#names.domain === undefined || this.#forwarder.isOwn(query.id, query.question)) return { message: servfail(query), source: 'none' };
    const limit = channel === 'udp' ? datagramFor(query) : largestMessage;
    const known = this.#names.lookup(query.name, query.type);
    if (known === undefined) return this.#forward(query, limit);
    const alias = aliasIn(known.answers, query.type);
    return alias === undefined ? { message: encodeReply(query, { ...known, authoritative: true }, limit), source: 'cluster' } : this.#follow(query, known, alias, limit);
  }

  async #forward(query: Query, limit: number): Promise<Reply> {
    const found = await this.#ask(query.question, query);
    if (found === undefined) return { message: servfail(query), source: 'upstream' };
    if (found === 'refused') return { message: encodeReply(query, { rcode: rcodes.REFUSED, authoritative: false, answers: [], authorities: [], additionals: [] }, limit), source: 'none' };
    return { message: relay(found.reply, query, found.ageSeconds, limit), source: 'upstream' };
  }

  /** Adds what the alias stands for: names of the cluster or of others. */
  async #follow(query: Query, known: Known, first: ResourceRecord, limit: number): Promise<Reply> {
    const answers = [...known.answers];
    let authorities: readonly ResourceRecord[] = [];
    let rcode: number = rcodes.NOERROR;
    let alias: ResourceRecord | undefined = first;
    for (let depth = 0; alias !== undefined && depth < mostAliases; depth++) {
      const target = textOfName(alias.data, 0);
      const next: Pick<Answer, 'rcode' | 'answers' | 'authorities'> = this.#names.lookup(target, query.type) ?? (await this.#upstream(target, query));
      answers.push(...next.answers);
      ({ rcode, authorities } = next);
      // Upstream servers have followed theirs to the end.
      alias = next.answers.length === 1 ? aliasIn(next.answers, query.type) : undefined;
    }
    if (alias !== undefined) rcode = rcodes.SERVFAIL;
    return { message: encodeReply(query, { rcode, authoritative: true, answers, authorities, additionals: [] }, limit), source: 'cluster' };
  }

  async #upstream(target: string, query: Query): Promise<Pick<Answer, 'rcode' | 'answers' | 'authorities'>> {
    const nothing = { rcode: rcodes.SERVFAIL, answers: [], authorities: [] };
    const name = wireName(target);
    if (name === undefined) return nothing;
    const end = Buffer.alloc(4);
    end.writeUInt16BE(query.type, 0);
    end.writeUInt16BE(classIn, 2);
    const found = await this.#ask(Buffer.concat([name, end]), query);
    return found === undefined || found === 'refused' ? nothing : (recordsOf(found) ?? nothing);
  }

  #ask(question: Buffer, { edns, flags: asked }: Query): Promise<Kept | 'refused' | undefined> {
    const wanted: Asked = { question, dnssec: edns?.dnssec === true, checkingDisabled: (asked & flags.checkingDisabled) !== 0 };
    return this.#forwarder.resolve(wanted);
  }
}

/** The alias that still has to be followed to what is asked for. */
function aliasIn(answers: readonly ResourceRecord[], type: number): ResourceRecord | undefined {
  return type === types.CNAME || type === types.ANY || answers.some((record) => record.type === type) ? undefined : answers.find((record) => record.type === types.CNAME);
}

/** The records of an upstream's answer, free of its own message; undefined when they cannot be read. */
function recordsOf({ reply, ageSeconds }: Kept): Pick<Answer, 'rcode' | 'answers' | 'authorities'> | undefined {
  try {
    const { answers = [], authorities = [] } = decode(reply.message);
    const aged = (record: ResourceRecord): ResourceRecord => ({ ...record, ttl: Math.max(0, record.ttl - ageSeconds) });
    return { rcode: reply.rcode, answers: answers.map((answer) => aged(recordOf(answer))), authorities: authorities.map((answer) => aged(recordOf(answer))) };
  } catch {
    return undefined;
  }
}
