import { describe, expect, it } from '@jest/globals';
import { Clients } from './clients.ts';
import { clusterNetwork, TestCluster } from './testing/cluster.ts';

describe('whose questions are answered', () => {
  it('those of pods, nodes and inner networks, not those of the internet', () => {
    const cluster = new TestCluster({ ...clusterNetwork, podCidrs: ['100.200.0.0/16'] });
    const clients = new Clients(cluster.state, ['8.8.4.4']);
    expect(['10.1.2.3', '172.18.0.5', '127.0.0.1', 'fd00::1', 'fe80::1%eth0', '100.200.3.4', '8.8.4.4', '::ffff:10.1.2.3'].filter((address) => !clients.admits(address))).toEqual([]);
    expect(['9.9.9.9', '100.201.0.1', '2001:4860::1', 'nonsense'].filter((address) => clients.admits(address))).toEqual([]);
    cluster.state.apply('ADDED', 'nodes', { metadata: { name: 'n2', uid: 'n2', resourceVersion: '1' }, status: { addresses: [{ type: 'InternalIP', address: '9.9.9.9' }] } });
    expect(clients.admits('9.9.9.9')).toBe(true);
  });
});
