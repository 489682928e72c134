import { isIP } from 'node:net';
import { decode, encode, RECURSION_DESIRED, type Answer } from 'dns-packet';
import type { DnsTarget, ProbeErrorCode, SuccessCondition } from '@roundsman/api';
import { parseAddress } from '@roundsman/api/policy';

const headerBytes = 12;
const replyCodes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN', 'YXRRSET', 'NXRRSET', 'NOTAUTH', 'NOTZONE'];

export function replyCodeName(code: number): string {
  return replyCodes[code] ?? `RCODE${code}`;
}

/** The query of a target with id 0: recursion desired, no EDNS. Throws when the domain cannot be asked for. */
export function encodeQuery(target: DnsTarget): Buffer {
  const name = target.domain.replace(/\.$/, '');
  const labels = name === '' ? [] : name.split('.');
  if (labels.some((label) => label === '' || Buffer.byteLength(label) > 63) || Buffer.byteLength(name) > 253) {
    throw new Error(`target ${target.id}: "${target.domain}" is not a domain name`);
  }
  return encode({ type: 'query', id: 0, flags: RECURSION_DESIRED, questions: [{ type: target.recordType, name: name === '' ? '.' : name }] });
}

/** What a reply must be; compiled once per target. */
export interface Expectation {
  replyCode: string;
  /** Normalised as `answerTexts` does. */
  answers: string[];
}

/** Throws on an unknown reply code. */
export function compileExpectation(expect: SuccessCondition, target: DnsTarget): Expectation {
  const replyCode = (expect.rcode ?? 'NOERROR').toUpperCase();
  if (!replyCodes.includes(replyCode)) throw new Error(`expected rcode "${expect.rcode}" is unknown; known are ${replyCodes.join(', ')}`);
  return { replyCode, answers: (expect.answers ?? []).map((text) => normalise(text, target.recordType)) };
}

/** A reply as far as every query needs it. */
export interface Reply {
  id: number;
  code: number;
  truncated: boolean;
}

/** Reads the header; undefined when the bytes are no reply. */
export function readReply(buffer: Buffer): Reply | undefined {
  if (buffer.length < headerBytes || (buffer[2]! & 0x80) === 0) return undefined;
  return { id: (buffer[0]! << 8) | buffer[1]!, code: buffer[3]! & 0x0f, truncated: (buffer[2]! & 0x02) !== 0 };
}

/** True when the reply repeats the query's question, in any case; an error reply may leave it out. */
export function answersQuestion(reply: Buffer, query: Buffer): boolean {
  const questions = (reply[4]! << 8) | reply[5]!;
  if (questions === 0) return (reply[3]! & 0x0f) !== 0;
  if (questions !== 1 || reply.length < query.length) return false;
  for (let at = headerBytes; at < query.length; at++) {
    const asked = query[at]!;
    const got = reply[at]!;
    if (asked !== got && ((asked | 32) !== (got | 32) || (asked | 32) < 97 || (asked | 32) > 122)) return false;
  }
  return true;
}

/** Judges a whole, untruncated reply; undefined when it is as expected. */
export function judgeReply(reply: Buffer, code: number, expected: Expectation): { code: ProbeErrorCode; message: string } | undefined {
  const name = replyCodeName(code);
  if (name !== expected.replyCode) return { code: 'rcode', message: `reply code ${name}, expected ${expected.replyCode}` };
  if (expected.answers.length === 0) return undefined;
  let got: string[];
  try {
    got = (decode(reply).answers ?? []).flatMap(answerTexts);
    // The decoder reads past the end without a word.
    if (decode.bytes > reply.length) return { code: 'protocol', message: 'the reply is cut off' };
  } catch (error) {
    return { code: 'protocol', message: `the reply cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
  const missing = expected.answers.find((answer) => !got.includes(answer));
  if (missing === undefined) return undefined;
  return { code: 'answer', message: `"${missing}" is not among the answers (${got.length === 0 ? 'there are none' : got.slice(0, 8).join(', ')})` };
}

/** The data of a record as zone files write it, in the forms an expectation may name. */
export function answerTexts(answer: Answer): string[] {
  switch (answer.type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return [normalise(answer.data, answer.type)];
    case 'MX':
      return [normalise(`${answer.data.preference ?? 0} ${answer.data.exchange}`, 'MX'), normalise(answer.data.exchange, 'MX')];
    case 'SRV':
      return [normalise(`${answer.data.priority ?? 0} ${answer.data.weight ?? 0} ${answer.data.port} ${answer.data.target}`, 'SRV')];
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, minimum } = answer.data;
      return [normalise([mname, rname, serial, refresh, retry, expire, minimum].join(' '), 'SOA')];
    }
    case 'CAA':
      return [`${answer.data.flags ?? 0} ${answer.data.tag} "${answer.data.value}"`, answer.data.value];
    case 'TXT': {
      const parts = Array.isArray(answer.data) ? answer.data : [answer.data];
      return [parts.map((part) => part.toString()).join('')];
    }
    default:
      return [];
  }
}

/** Names without their last dot and in lower case, addresses in their shortest form; texts as they are. */
function normalise(text: string, type: string): string {
  if (type === 'TXT' || type === 'CAA') return text;
  if (isIP(text) !== 0) return parseAddress(text)?.toString() ?? text;
  return text.trim().toLowerCase().split(/\s+/).map((part) => part.replace(/(?<=.)\.$/, '')).join(' ');
}
