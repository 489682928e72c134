import { encode, type Answer } from 'dns-packet';
import { headerBytes } from './codes.ts';

/** A record as it is kept: encoded once, sent often. */
export interface ResourceRecord {
  /** In lower case, without the last dot. */
  readonly name: string;
  readonly type: number;
  /** Seconds. */
  readonly ttl: number;
  readonly data: Buffer;
}

/** Header, the root's name of one byte, then type, class, TTL and length. */
const typeAt = headerBytes + 1;
const dataAt = typeAt + 10;

export function recordOf(answer: Answer): ResourceRecord {
  const message = encode({ type: 'response', answers: [{ ...answer, name: '.' } as Answer] });
  return { name: answer.name.toLowerCase().replace(/\.$/, ''), type: message.readUInt16BE(typeAt), ttl: 'ttl' in answer ? (answer.ttl ?? 0) : 0, data: message.subarray(dataAt) };
}
