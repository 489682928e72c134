import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { compilePolicy, parseAddress } from './policy.ts';

describe('the default policy', () => {
  const policy = compilePolicy();

  it.each([
    '169.254.169.254', '169.254.0.1', '2852039166', '0xA9FEA9FE', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376', '169.254.43518',
    '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '[::ffff:a9fe:a9fe]', '0:0:0:0:0:ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1', '::a9fe:a9fe',
    'fe80::1', 'fe80::1%eth0', 'febf:ffff::1', 'fd00:ec2::254',
  ])('forbids %s', (address) => {
    expect(policy.refusal(address, 80)).toContain('which the target policy forbids');
  });

  it.each(['127.0.0.1', '10.0.0.1', '169.253.255.255', '169.255.0.1', '::1', 'fec0::1', 'fd00:ec2::253', '2001:db8::1', '8.8.8.8'])('lets %s through', (address) => {
    expect(policy.refusal(address, 80)).toBeUndefined();
  });

  it('forbids every address of the metadata range in every notation', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), (low) => {
        const value = 0xa9fe0000 + low;
        const hex = value.toString(16);
        for (const text of [String(value), `0x${hex}`, `::ffff:${hex.slice(0, 4)}:${hex.slice(4)}`, `169.254.${low >> 8}.${low & 255}`]) expect(policy.refusal(text, 1)).toBeDefined();
      }),
    );
  });

  it('refuses what is no address', () => {
    expect(policy.refusal('example.com', 80)).toBe('example.com is not an IP address');
    expect(parseAddress('example.com')).toBeUndefined();
  });
});

describe('compilePolicy', () => {
  it('forbids the product\'s own endpoints on every address of this machine', () => {
    const policy = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port: 4222 }, { address: '10.9.8.7', port: 5432 }] });
    for (const address of ['127.0.0.1', '127.0.0.2', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1', '2130706433']) expect(policy.refusal(address, 4222)).toContain('belongs to Roundsman itself');
    const own = (): string[] => Object.values(networkInterfaces()).flatMap((list) => list ?? []).map((i) => i.address).filter((a) => !a.startsWith('fe80'));
    // Interfaces of others may come and go meanwhile.
    const before = own();
    const open = before.filter((address) => policy.refusal(address, 4222) === undefined);
    const after = own();
    expect(open.filter((address) => after.includes(address))).toEqual([]);
    expect(before).not.toEqual([]);
    expect(policy.refusal('127.0.0.1', 4223)).toBeUndefined();
    expect(policy.refusal('10.9.8.7', 5432)).toBeDefined();
    expect(policy.refusal('10.9.8.6', 5432)).toBeUndefined();
  });

  it('opens what is allowed, by range, address or address and port', () => {
    const policy = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port: 4222 }], allow: ['169.254.10.0/24', 'fe80::5', '127.0.0.1:4222', '[fe80::6]:80'] });
    expect(policy.refusal('169.254.10.20', 80)).toBeUndefined();
    expect(policy.refusal('::ffff:169.254.10.20', 80)).toBeUndefined();
    expect(policy.refusal('169.254.11.20', 80)).toBeDefined();
    expect(policy.refusal('fe80::5', 80)).toBeUndefined();
    expect(policy.refusal('127.0.0.1', 4222)).toBeUndefined();
    expect(policy.refusal('::1', 4222)).toBeDefined();
    expect(policy.refusal('fe80::6', 80)).toBeUndefined();
    expect(policy.refusal('fe80::6', 81)).toBeDefined();
  });

  it('replaces the default ranges, and names what it cannot read', () => {
    expect(compilePolicy({ deny: ['10.0.0.0/8'] }).refusal('169.254.169.254', 80)).toContain('169.254.0.0/16');
    expect(compilePolicy({ deny: ['10.0.0.0/8'] }).refusal('10.1.1.1', 80)).toContain('10.0.0.0/8');
    expect(() => compilePolicy({ deny: ['ten'] })).toThrow('"ten" is neither an IP address nor a CIDR range');
    expect(() => compilePolicy({ denyEndpoints: [{ address: 'db', port: 1 }] })).toThrow('denied endpoint "db"');
  });
});

describe('a policy with endpoints of the product', () => {
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
