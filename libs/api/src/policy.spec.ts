import { describe, expect, it } from '@jest/globals';
import { compilePolicy } from './policy.ts';

describe('target policy', () => {
  const policy = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port: 4222 }, { address: '10.1.2.3', port: 5432 }] });
  it.each([
    ['169.254.169.254', 80], ['169.254.0.1', 443], ['2852039166', 80], ['0xa9fea9fe', 80], ['0251.0376.0251.0376', 80], ['169.254.43518', 80], ['::ffff:169.254.169.254', 80], ['::ffff:a9fe:a9fe', 80],
    ['64:ff9b::a9fe:a9fe', 80], ['2002:a9fe:a9fe::1', 80], ['fe80::1', 80], ['febf::1', 80], ['fd00:ec2::254', 80], ['[fe80::1]', 80],
    ['127.0.0.1', 4222], ['127.9.9.9', 4222], ['::1', 4222], ['0.0.0.0', 4222], ['::', 4222], ['::ffff:127.0.0.1', 4222], ['10.1.2.3', 5432],
  ])('forbids %s:%d', (address, port) => expect(policy.refusal(address, port)).toMatch(/forbids/));
  it.each([['127.0.0.1', 80], ['10.1.2.3', 80], ['10.1.2.4', 5432], ['8.8.8.8', 53], ['fd00::1', 80], ['169.253.255.255', 80]])('allows %s:%d', (address, port) => expect(policy.refusal(address, port)).toBeUndefined());
  it('is opened by the allow-list, by range or by address and port', () => {
    const open = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port: 4222 }], allow: ['169.254.20.0/24', '127.0.0.1:4222', '[fe80::1]:53'] });
    expect(open.refusal('169.254.20.10', 53)).toBeUndefined();
    expect(open.refusal('169.254.21.10', 53)).toBeDefined();
    expect(open.refusal('127.0.0.1', 4222)).toBeUndefined();
    expect(open.refusal('fe80::1', 53)).toBeUndefined();
    expect(open.refusal('fe80::1', 54)).toBeDefined();
  });
  it('cannot be set up with what it cannot read', () => {
    expect(() => compilePolicy({ deny: ['nonsense'] })).toThrow('"nonsense" is neither');
    expect(() => compilePolicy({ denyEndpoints: [{ address: 'localhost', port: 1 }] })).toThrow('"localhost" is not an IP address');
  });
});
