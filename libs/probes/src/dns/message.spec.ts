import { describe, expect, it } from '@jest/globals';
import { decode, encode, type Answer } from 'dns-packet';
import * as fc from 'fast-check';
import { dnsTargetSchema, recordTypes, type DnsTarget } from '@roundsman/api';
import { answersQuestion, answerTexts, compileExpectation, encodeQuery, judgeReply, readReply, replyCodeName } from './message.ts';

const target = (over: Partial<DnsTarget> = {}): DnsTarget => dnsTargetSchema.parse({ id: 'dns', layer: 'dns', probe: 'dns', server: '10.0.0.10', port: 53, protocol: 'udp', domain: 'shop.example.', recordType: 'A', ...over });

const reply = (answers: Answer[], { flags = 0, name = 'shop.example' } = {}): Buffer => encode({ type: 'response', id: 7, flags, questions: [{ type: 'A', name }], answers });

describe('encodeQuery', () => {
  it.each(recordTypes)('asks for %s, with recursion desired', (recordType) => {
    const query = decode(encodeQuery(target({ recordType })));
    expect(query).toMatchObject({ type: 'query', flag_rd: true, questions: [{ type: recordType, name: 'shop.example', class: 'IN' }] });
  });

  it('takes the root and refuses what is no domain', () => {
    expect(decode(encodeQuery(target({ domain: '.', recordType: 'NS' }))).questions).toMatchObject([{ name: '.' }]);
    for (const domain of ['a..b', '.a', `${'x'.repeat(64)}.example`, Array.from({ length: 64 }, () => 'abcd').join('.')]) expect(() => encodeQuery(target({ domain }))).toThrow('is not a domain name');
  });
});

describe('answersQuestion', () => {
  const query = encodeQuery(target());
  it('compares the question in any case', () => {
    expect(answersQuestion(reply([]), query)).toBe(true);
    expect(answersQuestion(reply([], { name: 'SHOP.eXample' }), query)).toBe(true);
    expect(answersQuestion(reply([], { name: 'shop.exampld' }), query)).toBe(false);
    expect(answersQuestion(reply([], { name: 'a.shop.example' }), query)).toBe(false);
    expect(answersQuestion(encode({ type: 'response', questions: [{ type: 'AAAA', name: 'shop.example' }] }), query)).toBe(false);
  });

  it('takes an error without a question, and no success without one', () => {
    expect(answersQuestion(encode({ type: 'response', flags: 1 }), query)).toBe(true);
    expect(answersQuestion(encode({ type: 'response', flags: 0 }), query)).toBe(false);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const message = Buffer.from(bytes);
      if (readReply(message) !== undefined) answersQuestion(message, query);
    }));
  });
});

describe('judgeReply', () => {
  const judge = (message: Buffer, expectation: Parameters<typeof compileExpectation>[0], over: Partial<DnsTarget> = {}) => judgeReply(message, readReply(message)!.code, compileExpectation(expectation, target(over)));

  it('expects NOERROR unless told otherwise', () => {
    expect(judge(reply([]), {})).toBeUndefined();
    expect(judge(reply([], { flags: 3 }), {})).toEqual({ code: 'rcode', message: 'reply code NXDOMAIN, expected NOERROR' });
    expect(judge(reply([], { flags: 3 }), { rcode: 'nxdomain' })).toBeUndefined();
    expect(judge(reply([]), { rcode: 'NXDOMAIN' })).toEqual({ code: 'rcode', message: 'reply code NOERROR, expected NXDOMAIN' });
    expect(() => compileExpectation({ rcode: 'MAYBE' }, target())).toThrow('"MAYBE" is unknown');
    expect(replyCodeName(15)).toBe('RCODE15');
  });

  it('expects every named answer to be there', () => {
    const message = reply([{ type: 'CNAME', name: 'shop.example', data: 'Front.example' }, { type: 'A', name: 'front.example', data: '10.0.0.1' }, { type: 'A', name: 'front.example', data: '10.0.0.2' }]);
    expect(judge(message, { answers: ['10.0.0.2', 'front.example.'] })).toBeUndefined();
    expect(judge(message, { answers: ['10.0.0.3'] })).toEqual({ code: 'answer', message: '"10.0.0.3" is not among the answers (front.example, 10.0.0.1, 10.0.0.2)' });
    expect(judge(reply([]), { answers: ['10.0.0.3'] })!.message).toContain('there are none');
  });

  it('calls what cannot be read a protocol failure', () => {
    const message = reply([{ type: 'A', name: 'shop.example', data: '10.0.0.1' }]);
    expect(judge(message.subarray(0, message.length - 5), { answers: ['10.0.0.1'] })!.code).toBe('protocol');
  });

  it.each([
    [{ type: 'AAAA', name: 'x', data: '2001:db8:0:0::1' }, ['2001:db8::1']],
    [{ type: 'NS', name: 'x', data: 'NS1.Example.' }, ['ns1.example']],
    [{ type: 'PTR', name: 'x', data: 'host.example' }, ['host.example']],
    [{ type: 'MX', name: 'x', data: { preference: 10, exchange: 'Mail.Example' } }, ['10 mail.example', 'mail.example']],
    [{ type: 'SRV', name: 'x', data: { priority: 1, weight: 2, port: 443, target: 'a.example' } }, ['1 2 443 a.example']],
    [{ type: 'TXT', name: 'x', data: [Buffer.from('v=Spf1 '), Buffer.from('-all')] }, ['v=Spf1 -all']],
    [{ type: 'CAA', name: 'x', data: { flags: 0, tag: 'issue', value: 'ca.example' } }, ['0 issue "ca.example"', 'ca.example']],
    [{ type: 'SOA', name: 'x', data: { mname: 'ns.example', rname: 'root.example', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 } }, ['ns.example root.example 1 2 3 4 5']],
  ] as [Answer, string[]][])('writes %j as zone files do', (answer, texts) => {
    expect(answerTexts(answer)).toEqual(texts);
  });
});
