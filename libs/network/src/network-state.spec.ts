import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClusterNetwork } from '@roundsman/api';
import { array, assert, constantFrom, nat, oneof, property, record } from 'fast-check';
import { NetworkState, type NetworkStateChange } from './network-state.ts';

const network: ClusterNetwork = {
  podCidrs: ['10.244.0.0/16'], nodePrefixes: [24], serviceCidrs: ['10.96.0.0/16'], loadBalancerCidrs: [], nodePorts: { first: 30000, last: 32767 },
  domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw',
};
const slices = 'endpointslices.discovery.k8s.io';
const slice = (name: string, service: string, version = 1, uid = name) => ({
  apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', endpoints: [], ports: [],
  metadata: { namespace: 'default', name, uid, resourceVersion: String(version), labels: { 'kubernetes.io/service-name': service } },
});
const service = (name: string, version = 1, uid = name) => ({ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name, uid, resourceVersion: String(version) }, spec: {} });
const node = (version: number, ready: string) => ({
  apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'n1', resourceVersion: String(version), annotations: { 'roundsman.io/network-mode': 'machine' } }, spec: { podCIDRs: ['10.244.0.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], conditions: [{ type: 'Ready', status: ready }] },
});

describe('the state of the network', () => {
  let state: NetworkState;
  let told: string[];
  const nameOf = ({ object }: NetworkStateChange): string => ('metadata' in object ? object.metadata.name : 'name' in object ? object.name : 'network');
  beforeEach(() => {
    state = new NetworkState();
    told = [];
    state.onChange((change) => told.push(`${change.type} ${nameOf(change)}`));
  });
  const names = (of: string): string[] => state.slicesOf('default', of).map(({ metadata }) => metadata.name).sort();

  it('finds slices by the Service that they name, also when they name another one', () => {
    state.apply('ADDED', slices, slice('a-1', 'a'));
    state.apply('ADDED', slices, slice('a-2', 'a'));
    expect(names('a')).toEqual(['a-1', 'a-2']);
    state.apply('MODIFIED', slices, slice('a-2', 'b', 2));
    expect([names('a'), names('b')]).toEqual([['a-1'], ['a-2']]);
    state.apply('DELETED', slices, slice('a-1', 'a', 3));
    expect(names('a')).toEqual([]);
  });

  it('shows of nodes what packets need, and is silent about the rest', () => {
    state.apply('ADDED', 'nodes', node(1, 'True'));
    expect(state.node('n1')).toEqual({
      name: 'n1', uid: 'n1', annotations: { 'roundsman.io/network-mode': 'machine' }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], podCIDRs: ['10.244.0.0/24'], ready: true,
    });
    state.apply('MODIFIED', 'nodes', node(2, 'True'));
    state.apply('MODIFIED', 'nodes', node(3, 'Unknown'));
    expect(told).toEqual(['ADDED n1', 'MODIFIED n1']);
    expect(state.node('n1')?.ready).toBe(false);
  });

  it('a whole listing tells what it lacks as deleted, and the network last', () => {
    state.apply('ADDED', 'services', service('old'));
    state.apply('ADDED', 'services', service('kept'));
    state.replace(network, [{ resource: 'services', object: service('kept') }, { resource: slices, object: slice('s', 'kept') }, { resource: 'pods', object: service('no-part-of-it') }]);
    expect(told).toEqual(['ADDED old', 'ADDED kept', 'DELETED old', 'ADDED s', 'ADDED network']);
    state.replace(network, [{ resource: 'services', object: service('kept') }, { resource: slices, object: slice('s', 'kept') }]);
    expect(told).toHaveLength(5);
    expect(state.network).toEqual(network);
  });

  it('what is older changes nothing, and one made anew is another one', () => {
    state.apply('ADDED', 'services', service('a', 5));
    state.apply('MODIFIED', 'services', service('a', 4));
    state.apply('DELETED', 'services', service('a', 3));
    expect(state.service('default', 'a')?.metadata.resourceVersion).toBe('5');
    state.apply('ADDED', 'services', service('a', 9, 'another'));
    state.apply('DELETED', 'services', service('a', 8));
    expect(told).toEqual(['ADDED a', 'DELETED a', 'ADDED a']);
    expect(state.service('default', 'a')?.metadata.uid).toBe('another');
  });

  it('its index says what its objects say, whatever was told', () => {
    const one = record({ type: constantFrom('ADDED', 'MODIFIED', 'DELETED'), name: constantFrom('1', '2', '3'), to: constantFrom('a', 'b'), version: nat(9), uid: constantFrom('u', 'v') });
    assert(
      property(array(oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: array(one, { maxLength: 3 }) })), (steps) => {
        const known = new NetworkState();
        // Rebuilt from what is told only.
        const rebuilt = new Map<string, string>();
        known.onChange((change) => {
          if (change.resource !== slices) return;
          if (change.type === 'DELETED') rebuilt.delete(change.object.metadata.name);
          else rebuilt.set(change.object.metadata.name, change.object.metadata.labels?.['kubernetes.io/service-name'] ?? '');
        });
        for (const step of steps) {
          if (Array.isArray(step)) known.replace(network, [...new Map(step.map((each) => [each.name, each])).values()].map(({ name, to, version, uid }) => ({ resource: slices, object: slice(name, to, version, uid) })));
          else known.apply(step.type as 'ADDED', slices, slice(step.name, step.to, step.version, step.uid));
        }
        for (const to of ['a', 'b']) {
          expect(known.slicesOf('default', to).map(({ metadata }) => metadata.name).sort()).toEqual([...rebuilt].flatMap(([name, its]) => (its === to ? [name] : [])).sort());
        }
      }),
    );
  });
});
