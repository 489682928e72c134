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
