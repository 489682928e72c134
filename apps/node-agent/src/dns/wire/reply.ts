import { classIn, flags, headerBytes, largestDatagram, plainDatagram, rcodes, types } from './codes.ts';
import type { Query, Refused } from './query.ts';
import type { ResourceRecord } from './record.ts';

export interface Answer {
  readonly rcode: number;
  /** Of a name of the cluster's own. */
  readonly authoritative: boolean;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
}

/** Of a message over TCP. */
export const largestMessage = 65_535;
const optBytes = 11;
const pointer = 0xc000;

/** The largest datagram that whoever asks takes, as far as it is sent. */
export const datagramFor = ({ edns }: Query): number => (edns === undefined ? plainDatagram : Math.min(Math.max(edns.payload, plainDatagram), largestDatagram));

/** What a reply may begin with: flags that it takes over from the query, and that names are also looked for elsewhere. */
export const replyFlags = (query: number, more: number): number => flags.reply | flags.recursionAvailable | (query & (flags.recursionDesired | flags.checkingDisabled)) | more;

/** At most `limit` bytes: whole records, as many as there is room for; TC is set when an answer is missing, not for want of what was only added. */
export function encodeReply(query: Query, answer: Answer, limit: number): Buffer {
  const message = new Writer(query, Math.min(limit, largestMessage) - (query.edns === undefined ? 0 : optBytes));
  const answers = message.addAll(answer.answers);
  const isWhole = answers === answer.answers.length;
  const authorities = isWhole ? message.addAll(answer.authorities) : 0;
  const additionals = isWhole ? message.addAll(answer.additionals) : 0;
  const flagWord = (answer.authoritative ? flags.authoritative : 0) | (isWhole ? 0 : flags.truncated) | answer.rcode;
  return message.end(replyFlags(query.flags, flagWord), [answers, authorities, additionals], query.edns !== undefined);
}

/** For what is not answered. */
export function encodeRefusal({ id, flags: asked, rcode, question = Buffer.alloc(0) }: Refused): Buffer {
  const isExtended = rcode > flags.rcode;
  const message = Buffer.alloc(headerBytes + question.length + (isExtended ? optBytes : 0));
  message.writeUInt16BE(id, 0);
  message.writeUInt16BE(replyFlags(asked, (asked & flags.opcode) | (rcode & flags.rcode)), 2);
  message.writeUInt16BE(question.length > 0 ? 1 : 0, 4);
  question.copy(message, headerBytes);
  if (isExtended) {
    message.writeUInt16BE(1, 10);
    writeOpt(message, headerBytes + question.length, rcode >> 4);
  }
  return message;
}

export const servfail = (query: Query): Buffer => encodeReply(query, { rcode: rcodes.SERVFAIL, authoritative: false, answers: [], authorities: [], additionals: [] }, plainDatagram);

/** RFC 6891: who sends an OPT record gets one back. */
export function writeOpt(message: Buffer, at: number, extendedRcode = 0): void {
  message[at] = 0;
  message.writeUInt16BE(types.OPT, at + 1);
  message.writeUInt16BE(largestDatagram, at + 3);
  message.writeUInt32BE(extendedRcode << 24, at + 5);
  message.writeUInt16BE(0, at + 9);
}

/** Writes one message into a buffer that all use: it is copied at the end. */
const scratch = Buffer.allocUnsafe(largestMessage);

class Writer {
  readonly #limit: number;
  /** Where names, and what they end in, were written. */
  readonly #places = new Map<string, number>();
  #at: number;

  constructor({ id, question, name }: Query, limit: number) {
    this.#limit = limit;
    scratch.writeUInt16BE(id, 0);
    scratch.writeUInt16BE(1, 4);
    question.copy(scratch, headerBytes);
    this.#at = headerBytes + question.length;
    this.#remember(name, headerBytes);
  }

  /** How many there was room for. */
  addAll(records: readonly ResourceRecord[]): number {
    for (const [index, record] of records.entries()) {
      const start = this.#at;
      if (!this.#add(record)) {
        this.#at = start;
        return index;
      }
    }
    return records.length;
  }

  end(flagWord: number, counts: readonly [number, number, number], withOpt: boolean): Buffer {
    if (withOpt) {
      writeOpt(scratch, this.#at);
      this.#at += optBytes;
    }
    scratch.writeUInt16BE(flagWord, 2);
    scratch.writeUInt16BE(counts[0], 6);
    scratch.writeUInt16BE(counts[1], 8);
    scratch.writeUInt16BE(counts[2] + (withOpt ? 1 : 0), 10);
    return Buffer.from(scratch.subarray(0, this.#at));
  }

  #add({ name, type, ttl, data }: ResourceRecord): boolean {
    if (this.#at + this.#nameBytes(name) + 10 + data.length > this.#limit) return false;
    this.#writeName(name);
    const at = this.#at;
    scratch.writeUInt16BE(type, at);
    scratch.writeUInt16BE(classIn, at + 2);
    scratch.writeUInt32BE(ttl, at + 4);
    scratch.writeUInt16BE(data.length, at + 8);
    data.copy(scratch, at + 10);
    this.#at = at + 10 + data.length;
    return true;
  }

  #nameBytes(name: string): number {
    for (let rest = name, before = 0; ; ) {
      if (this.#places.has(rest)) return before + 2;
      const dot = rest.indexOf('.');
      if (dot < 0) return name.length + 2;
      before += dot + 1;
      rest = rest.slice(dot + 1);
    }
  }

  #writeName(name: string): void {
    const start = this.#at;
    let rest = name;
    for (;;) {
      const known = this.#places.get(rest);
      if (known !== undefined) {
        scratch.writeUInt16BE(pointer | known, this.#at);
        this.#at += 2;
        break;
      }
      if (rest === '') {
        scratch[this.#at++] = 0;
        break;
      }
      const dot = rest.indexOf('.');
      const label = dot < 0 ? rest : rest.slice(0, dot);
      scratch[this.#at] = label.length;
      scratch.write(label, this.#at + 1, 'latin1');
      this.#at += 1 + label.length;
      rest = dot < 0 ? '' : rest.slice(dot + 1);
    }
    this.#remember(name, start);
  }

  /** Pointers reach 14 bits far. What is escaped in a text is shorter on the wire. */
  #remember(name: string, at: number): void {
    if (name.includes('\\')) return;
    for (let rest = name, place = at; rest !== '' && place < 0x4000; ) {
      if (this.#places.has(rest)) return;
      this.#places.set(rest, place);
      const dot = rest.indexOf('.');
      if (dot < 0) return;
      place += dot + 1;
      rest = rest.slice(dot + 1);
    }
  }
}
