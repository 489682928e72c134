import { classIn, flags, headerBytes, rcodes, types } from './codes.ts';
import { endOfName, textOfName } from './names.ts';

export interface Query {
  readonly id: number;
  readonly flags: number;
  /** Its question as it came: the reply repeats it to the letter. */
  readonly question: Buffer;
  /** In lower case, without the last dot; empty for the root. */
  readonly name: string;
  readonly type: number;
  /** What its OPT record says, when it has one. */
  readonly edns: { readonly payload: number; readonly dnssec: boolean } | undefined;
}

/** A message that asks nothing that is answered; `query` is what could be read of it. */
export interface Refused {
  readonly rcode: number;
  readonly id: number;
  readonly flags: number;
  readonly question?: Buffer;
}

/** Reads a query. Undefined for what must not be answered at all: a stub of a message, or a reply (answering one could go on for ever). */
export function readQuery(message: Buffer): Query | Refused | undefined {
  if (message.length < headerBytes) return undefined;
  const id = message.readUInt16BE(0);
  const word = message.readUInt16BE(2);
  if ((word & flags.reply) !== 0) return undefined;
  const refuse = (rcode: number, question?: Buffer): Refused => ({ rcode, id, flags: word, ...(question === undefined ? {} : { question }) });
  if ((word & flags.opcode) !== 0) return refuse(rcodes.NOTIMP);
  if (message.readUInt16BE(4) !== 1) return refuse(rcodes.FORMERR);
  // There is nothing before a question that its name could point to.
  const nameEnd = endOfName(message, headerBytes, 'no pointers');
  if (nameEnd === undefined || nameEnd + 4 > message.length) return refuse(rcodes.FORMERR);
  const question = message.subarray(headerBytes, nameEnd + 4);
  const type = message.readUInt16BE(nameEnd);
  if (message.readUInt16BE(nameEnd + 2) !== classIn || type === types.AXFR || type === types.IXFR) return refuse(rcodes.REFUSED, question);
  const edns = readOpt(message, nameEnd + 4);
  if (edns === undefined) return refuse(rcodes.FORMERR, question);
  if (edns.version > 0) return refuse(rcodes.BADVERS, question);
  return { id, flags: word, question, name: textOfName(message, headerBytes), type, edns: edns.found ? { payload: edns.payload, dnssec: edns.dnssec } : undefined };
}

interface Opt {
  readonly found: boolean;
  readonly version: number;
  readonly payload: number;
  readonly dnssec: boolean;
}

/** Walks what follows the question; undefined when it cannot be read. */
function readOpt(message: Buffer, at: number): Opt | undefined {
  let opt: Opt = { found: false, version: 0, payload: 0, dnssec: false };
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  let offset = at;
  for (let index = 0; index < records; index++) {
    const nameEnd = endOfName(message, offset);
    if (nameEnd === undefined || nameEnd + 10 > message.length) return undefined;
    const end = nameEnd + 10 + message.readUInt16BE(nameEnd + 8);
    if (end > message.length) return undefined;
    if (message.readUInt16BE(nameEnd) === types.OPT) {
      if (opt.found || nameEnd !== offset + 1) return undefined;
      opt = { found: true, version: message[nameEnd + 5]!, payload: message.readUInt16BE(nameEnd + 2), dnssec: (message.readUInt16BE(nameEnd + 6) & 0x8000) !== 0 };
    }
    offset = end;
  }
  return opt;
}
