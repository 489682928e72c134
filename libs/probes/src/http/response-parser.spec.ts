import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxHeadBytes, ResponseParser, type BodyRule } from './response-parser.ts';

interface Outcome {
  status: number;
  complete: boolean;
  keepAlive: boolean;
  bodyBytes: number;
  error: string | undefined;
  /** Bytes behind the response. */
  left: number;
}

/** Parses one response that arrives in the given pieces. */
function parse(pieces: Buffer[], rule: BodyRule = 'normal', closes = false): Outcome {
  const parser = new ResponseParser();
  parser.begin(rule);
  let left = 0;
  for (const piece of pieces) {
    // A fresh copy each time, wiped afterwards: what the parser keeps must be its own.
    const buffer = Buffer.from(piece);
    const stopped = parser.take(buffer, 0, buffer.length);
    left += buffer.length - stopped;
    buffer.fill(0xee);
  }
  if (closes && !parser.complete) parser.end();
  const { status, complete, keepAlive, bodyBytes, error } = parser;
  return { status, complete, keepAlive, bodyBytes, error, left };
}

const whole = (text: string, rule?: BodyRule, closes?: boolean): Outcome => parse([Buffer.from(text, 'latin1')], rule, closes);

const fixed = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;ext="x"\r\n0123456789\r\n0\r\nTrailer: yes\r\n\r\n';
const untilClose = 'HTTP/1.0 200 OK\r\n\r\neverything up to the end';
const interim = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${fixed}`;

const samples: [string, string, Partial<Outcome>, boolean][] = [
  ['Content-Length', fixed, { status: 200, complete: true, keepAlive: true, bodyBytes: 5, left: 0 }, false],
  ['chunked with extension and trailer', chunked, { status: 200, complete: true, keepAlive: true, bodyBytes: 15, left: 0 }, false],
  ['until close', untilClose, { status: 200, complete: true, keepAlive: false, bodyBytes: 24 }, true],
  ['interim responses', interim, { status: 200, complete: true, bodyBytes: 5 }, false],
  ['bare line feeds', fixed.replaceAll('\r\n', '\n'), { status: 200, complete: true, bodyBytes: 5 }, false],
  ['no reason phrase', 'HTTP/1.1 204\r\n\r\n', { status: 204, complete: true, keepAlive: true }, false],
  ['a folded header', 'HTTP/1.1 200 OK\r\nX: a\r\n b: c\r\nContent-Length: 0\r\n\r\n', { status: 200, complete: true }, false],
  ['something unknown behind it', `${fixed}junk`, { complete: true, left: 4 }, false],
];

describe('ResponseParser', () => {
  it.each(samples)('takes %s', (_, text, expected, closes) => {
    expect(whole(text, 'normal', closes)).toMatchObject({ error: undefined, ...expected });
  });

  it.each(samples)('takes %s split at every byte boundary, and byte by byte', (_, text, __, closes) => {
    const bytes = Buffer.from(text, 'latin1');
    const expected = whole(text, 'normal', closes);
    for (let at = 1; at < bytes.length; at++) expect(parse([bytes.subarray(0, at), bytes.subarray(at)], 'normal', closes)).toEqual(expected);
    expect(parse([...bytes].map((byte) => Buffer.of(byte)), 'normal', closes)).toEqual(expected);
  });

  it('takes any response split anyhow', () => {
    const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    const headers = fc.array(fc.tuple(fc.stringMatching(/^X-[A-Za-z]{1,12}$/), fc.stringMatching(/^[ -~]{0,40}$/)), { maxLength: 6 });
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }).filter((s) => s !== 204 && s !== 304), headers, fc.array(body, { maxLength: 4 }), fc.boolean(), fc.array(fc.nat(2000), { maxLength: 8 }), (status, extra, parts, inChunks, cuts) => {
        const data = Buffer.concat(parts);
        const lines = [`HTTP/1.1 ${status} Any`, ...extra.map(([k, v]) => `${k}: ${v}`), inChunks ? 'transfer-encoding: Chunked' : `CONTENT-LENGTH:${data.length}`];
        const payload = inChunks ? Buffer.concat([...parts.filter((p) => p.length > 0).map((p) => Buffer.concat([Buffer.from(`${p.length.toString(16)}\r\n`), p, Buffer.from('\r\n')])), Buffer.from('0\r\n\r\n')]) : data;
        const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), payload]);
        const at = [0, ...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((to, i) => bytes.subarray(at[i], to));
        expect(parse(pieces)).toEqual({ status, complete: true, keepAlive: true, bodyBytes: data.length, error: undefined, left: 0 });
      }),
    );
  });

  it('never throws and never reads past its input, whatever comes', () => {
    fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 5 }), fc.constantFrom('', 'HTTP/1.1 200 OK\r\n', chunked.slice(0, 55)), (parts, start) => {
      parse([Buffer.from(start, 'latin1'), ...parts.map((p) => Buffer.from(p))], 'normal', true);
    }));
  });

  it('knows the responses without a body', () => {
    const withLength = 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n';
    expect(whole(withLength, 'head')).toMatchObject({ complete: true, keepAlive: true, bodyBytes: 0 });
    expect(whole(withLength.replace('200', '304'))).toMatchObject({ status: 304, complete: true, keepAlive: true });
    expect(whole(withLength)).toMatchObject({ complete: false });
    expect(whole('HTTP/1.1 200 Connected\r\n\r\ntunnel', 'connect')).toMatchObject({ status: 200, complete: true, keepAlive: false });
    expect(whole('HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno', 'connect')).toMatchObject({ status: 407, complete: true, bodyBytes: 2, keepAlive: true });
    expect(whole('HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n')).toMatchObject({ status: 101, complete: true, keepAlive: false });
  });

  it('keeps the connection as the response says', () => {
    const keepAlive = (head: string): boolean => whole(`${head}Content-Length: 0\r\n\r\n`).keepAlive;
    expect(keepAlive('HTTP/1.1 200 OK\r\nConnection: close\r\n')).toBe(false);
    expect(keepAlive('HTTP/1.0 200 OK\r\n')).toBe(false);
    expect(keepAlive('HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n')).toBe(true);
    expect(keepAlive('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n')).toBe(false);
    expect(whole('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')).toMatchObject({ complete: true, keepAlive: false });
  });

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n', 'not HTTP/1.x'],
    ['a status that is none', 'HTTP/1.1 abc OK\r\n\r\n', 'status line'],
    ['a status line too short', 'HTTP/1.1\r\n\r\n', 'status line'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n', 'no colon'],
    ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', 'Content-Length'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 'Content-Length'],
    ['a chunk size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'chunk size'],
    ['an empty chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n', 'no size'],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n', 'longer than its size'],
    ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(maxHeadBytes)}`, 'longer than'],
    ['an endless trailer', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${'a'.repeat(maxHeadBytes)}`, 'too long'],
  ])('rejects %s', (_, text, message) => {
    const outcome = whole(text);
    expect(outcome.error).toContain(message);
    expect(outcome).toMatchObject({ complete: false, keepAlive: false });
  });

  it('does not take a close in the middle for the end', () => {
    expect(whole(fixed.slice(0, -1), 'normal', true).complete).toBe(false);
    expect(whole(chunked.slice(0, -4), 'normal', true).complete).toBe(false);
    expect(whole('HTTP/1.1 200 OK\r\n', 'normal', true).complete).toBe(false);
  });

  it('serves one response after the other', () => {
    const parser = new ResponseParser();
    for (const text of [fixed, chunked, `\r\n${fixed}`, fixed]) {
      parser.begin('normal');
      const bytes = Buffer.from(text);
      expect(parser.take(bytes, 0, bytes.length)).toBe(bytes.length);
      expect(parser.complete).toBe(true);
    }
  });
});
