import { flags, headerBytes, rcodes, types } from '../wire/codes.ts';
import { endOfName } from '../wire/names.ts';
import type { Query } from '../wire/query.ts';
import { largestMessage, replyFlags, writeOpt } from '../wire/reply.ts';

const optBytes = 11;

/** What is asked upstream: a name, a type, and whether signatures are wanted. The name goes out as it was written. */
export interface Asked {
  readonly question: Buffer;
  readonly dnssec: boolean;
  readonly checkingDisabled: boolean;
}

/** An answer of an upstream without what it added beyond answers and authorities. */
export interface UpstreamReply {
  readonly rcode: number;
  /** Header, question, answers, authorities. */
  readonly message: Buffer;
  /** Ends of the records. */
  readonly ends: readonly number[];
  readonly ttlPlaces: readonly number[];
  /** How long it holds, seconds (RFC 2308 for what does not exist); undefined: not at all. */
  readonly ttl: number | undefined;
}

export function encodeAsked({ question, dnssec, checkingDisabled }: Asked, id: number): Buffer {
  const message = Buffer.alloc(headerBytes + question.length + optBytes);
  message.writeUInt16BE(id, 0);
  message.writeUInt16BE(flags.recursionDesired | (checkingDisabled ? flags.checkingDisabled : 0), 2);
  message.writeUInt16BE(1, 4);
  message.writeUInt16BE(1, 10);
  question.copy(message, headerBytes);
  writeOpt(message, headerBytes + question.length);
  if (dnssec) message.writeUInt16BE(0x8000, headerBytes + question.length + 7);
  return message;
}

/** Whether it may be the answer to that: the id and the question are the same, case left aside. */
export function answersTo(message: Buffer, id: number, question: Buffer): boolean {
  if (message.length < headerBytes || message.readUInt16BE(0) !== id || (message.readUInt16BE(2) & flags.reply) === 0) return false;
  // Servers that do not understand a query may leave its question out.
  if (message.readUInt16BE(4) === 0) return (message[3]! & flags.rcode) !== 0;
  if (message.readUInt16BE(4) !== 1 || message.length < headerBytes + question.length) return false;
  return questionKey(message.subarray(headerBytes, headerBytes + question.length)) === questionKey(question);
}

/** Equal for questions that differ in case only: lengths of labels are below the letters. */
export const questionKey = (question: Buffer): string => question.toString('latin1', 0, question.length - 4).toLowerCase() + question.toString('latin1', question.length - 4);

export const isTruncated = (message: Buffer): boolean => (message.readUInt16BE(2) & flags.truncated) !== 0;

/** Undefined when it cannot be read. */
export function readReply(message: Buffer, { question }: Asked): UpstreamReply | undefined {
  const word = message.readUInt16BE(2);
  const rcode = word & flags.rcode;
  if (message.readUInt16BE(4) === 0) return { rcode, message: emptyReply(question, word), ends: [], ttlPlaces: [], ttl: undefined };
  const counts = [message.readUInt16BE(6), message.readUInt16BE(8)] as const;
  const ends: number[] = [];
  const ttlPlaces: number[] = [];
  let positive = Infinity;
  let negative: number | undefined;
  let at = headerBytes + question.length;
  for (let index = 0; index < counts[0] + counts[1]; index++) {
    const nameEnd = endOfName(message, at);
    if (nameEnd === undefined || nameEnd + 10 > message.length) return undefined;
    const end = nameEnd + 10 + message.readUInt16BE(nameEnd + 8);
    if (end > message.length) return undefined;
    const ttl = message.readUInt32BE(nameEnd + 4);
    positive = Math.min(positive, ttl);
    // Its last member: how long what does not exist does not.
    if (index >= counts[0] && message.readUInt16BE(nameEnd) === types.SOA && end - nameEnd >= 14) negative = Math.min(ttl, message.readUInt32BE(end - 4));
    ends.push(end);
    ttlPlaces.push(nameEnd + 4);
    at = end;
  }
  const kept = Buffer.from(message.subarray(0, at));
  kept.writeUInt16BE(0, 10);
  const isPositive = rcode === rcodes.NOERROR && counts[0] > 0;
  const holds = rcode === rcodes.NOERROR || rcode === rcodes.NXDOMAIN;
  const isCut = (word & flags.truncated) !== 0;
  return { rcode, message: kept, ends, ttlPlaces, ttl: !holds || isCut ? undefined : isPositive ? positive : negative };
}

function emptyReply(question: Buffer, word: number): Buffer {
  const message = Buffer.concat([Buffer.alloc(headerBytes), question]);
  message.writeUInt16BE(word, 2);
  message.writeUInt16BE(1, 4);
  return message;
}

/** The reply for one who asks: with its id and its question to the letter, TTLs that much less, and no longer than it takes. */
export function relay({ message, ends, ttlPlaces }: UpstreamReply, query: Query, ageSeconds: number, limit: number): Buffer {
  const room = Math.min(limit, largestMessage) - (query.edns === undefined ? 0 : optBytes);
  const fits = message.length <= room ? ends.length : ends.findLastIndex((end) => end <= room) + 1;
  const end = fits === 0 ? headerBytes + query.question.length : ends[fits - 1]!;
  const reply = Buffer.alloc(end + (query.edns === undefined ? 0 : optBytes));
  message.copy(reply, 0, 0, end);
  const answers = Math.min(message.readUInt16BE(6), fits);
  const word = message.readUInt16BE(2);
  const isCut = (word & flags.truncated) !== 0 || fits < message.readUInt16BE(6);
  reply.writeUInt16BE(query.id, 0);
  reply.writeUInt16BE(replyFlags(query.flags, (word & (flags.authentic | flags.rcode)) | (isCut ? flags.truncated : 0)), 2);
  reply.writeUInt16BE(answers, 6);
  reply.writeUInt16BE(fits - answers, 8);
  query.question.copy(reply, headerBytes);
  for (const place of ttlPlaces.slice(0, fits)) reply.writeUInt32BE(Math.max(0, reply.readUInt32BE(place) - ageSeconds), place);
  if (query.edns !== undefined) {
    reply.writeUInt16BE(1, 10);
    writeOpt(reply, end);
  }
  return reply;
}
