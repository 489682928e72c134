import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EmptyNamespace, whenPackets } from '../testing/packet-lab.ts';
import { AnnouncedAddresses, removeAnnounced } from './announced-addresses.ts';

whenPackets(describe)('load balancer addresses of a machine', () => {
  let namespace: EmptyNamespace;
  const problems: unknown[] = [];
  const log = { warn: (problem: unknown) => problems.push(problem) } as never;
  const inPool = (address: string): boolean => address.startsWith('198.51.100.') || address.startsWith('2001:db8:1::');
  const there = (): string[] => [...namespace.run('ip address show dev lo').matchAll(/inet6? (\S+)/g)].map(([, address = '']) => address).filter((address) => address !== '127.0.0.1/8' && address !== '::1/128');
  beforeEach(() => {
    namespace = new EmptyNamespace();
  });
  afterEach(() => {
    expect(problems).toEqual([]);
    namespace.stop();
  });

  it('end some time after they were renewed last: their agent may be gone, and another machine answer for them', async () => {
    const announced = new AnnouncedAddresses('a', namespace, log);
    const lives = (): number[] => [...namespace.run('ip address show dev lo').matchAll(/valid_lft (\d+)sec/g)].map(([, seconds]) => Number(seconds));
    await announced.have(['198.51.100.1', '2001:db8:1::1'], inPool);
    expect(lives()).toHaveLength(2);
    for (const address of ['198.51.100.1/32', '2001:db8:1::1/128']) namespace.run(`ip address change ${address} dev lo valid_lft 50 preferred_lft 50`);
    await announced.have(['198.51.100.1', '2001:db8:1::1'], inPool);
    expect(Math.max(...lives())).toBeLessThanOrEqual(50);
    await announced.have(['198.51.100.1', '2001:db8:1::1'], inPool, true);
    expect(Math.min(...lives())).toBeGreaterThan(50);
  });

  it('are there while they are wanted; those of others stay', async () => {
    namespace.run('ip address add 198.51.100.9/32 dev lo');
    const announced = new AnnouncedAddresses('a', namespace, log);
    await announced.have(['198.51.100.1', '2001:db8:1::1'], inPool);
    expect(there()).toEqual(['198.51.100.9/32', '198.51.100.1/32', '2001:db8:1::1/128']);
    // An agent that starts knows what one before it left.
    await new AnnouncedAddresses('a', namespace, log).have(['198.51.100.2'], inPool);
    expect(there()).toEqual(['198.51.100.9/32', '198.51.100.2/32']);
    await new AnnouncedAddresses('b', namespace, log).have([], inPool);
    expect(there()).toEqual(['198.51.100.9/32', '198.51.100.2/32']);
    await removeAnnounced('a', namespace);
    expect(there()).toEqual(['198.51.100.9/32']);
  });
});
