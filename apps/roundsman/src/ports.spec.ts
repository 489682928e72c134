import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { choosePorts } from './ports.ts';

describe('ports', () => {
  it('are as set, as remembered when still free, and otherwise free ones, all different', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port: taken } = server.address() as AddressInfo;
    const { free } = await choosePorts([{ name: 'free' }]);
    const chosen = await choosePorts([{ name: 'a', remembered: taken }, { name: 'b', remembered: free }, { name: 'c', set: undefined }, { name: 'd', remembered: free }]);
    expect(chosen['b']).toBe(free);
    expect(chosen['a']).not.toBe(taken);
    expect(new Set(Object.values(chosen)).size).toBe(4);
    await expect(choosePorts([{ name: 'nats', set: taken }])).rejects.toThrow(`port ${taken} (nats) is taken`);
    server.close();
  });
});
